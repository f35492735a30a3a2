// Runs calls of kernels in tests, on random operands. Operands are tensors, and an undefined tensor
// is an omitted operand. The tasks are split as among threads.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/tensor.h"
#include "kernels/calls/call.h"

namespace poprt::kernels::test {

// One of `values`.
inline int64_t one_of(std::mt19937& rng, std::initializer_list<int64_t> values) {
  return values.begin()[rng() % values.size()];
}

// Numbers that every type can represent and that have exact sums: sixteenths from -2 to 2, whole
// numbers from -3 to 3, or from 0 to 4 for unsigned types.
inline Tensor random_numbers(DType dtype, Shape shape, std::mt19937& rng) {
  Tensor t = Tensor::zeros(dtype, std::move(shape));
  const auto real = [&] { return static_cast<float>(rng() % 65) / 16 - 2; };
  const auto whole = [&] { return static_cast<int>(rng() % 7) - 3; };
  const auto fill = [&]<class T>(T, auto&& next) {
    for (T& v : t.mutable_values<T>()) v = static_cast<T>(next());
  };
  switch (dtype) {
    case DType::f32: fill(float{}, real); break;
    case DType::f64: fill(double{}, real); break;
    case DType::f16: fill(f16_t{}, [&] { return to_f16(real()); }); break;
    case DType::bf16: fill(bf16_t{}, [&] { return to_bf16(real()); }); break;
    case DType::s8: fill(int8_t{}, whole); break;
    case DType::s32: fill(int32_t{}, whole); break;
    case DType::s64: fill(int64_t{}, whole); break;
    case DType::u8: fill(uint8_t{}, [&] { return rng() % 5; }); break;
    case DType::u32: fill(uint32_t{}, [&] { return rng() % 5; }); break;
    case DType::u64: fill(uint64_t{}, [&] { return rng() % 5; }); break;
    case DType::boolean: fill(bool{}, [&] { return rng() % 2 != 0; }); break;
    default: ADD_FAILURE() << dtype_name(dtype);
  }
  return t;
}

// Returns the number after it has been stored as `dtype`.
inline double stored(DType dtype, double v) {
  if (dtype == DType::f16) return static_cast<double>(to_float(to_f16(static_cast<float>(v))));
  if (dtype == DType::bf16) return static_cast<double>(to_float(to_bf16(static_cast<float>(v))));
  return dtype == DType::f32 ? static_cast<double>(static_cast<float>(v)) : v;
}

// `shorter`: the operand that lacks its last element.
template <calls::NamedCall C>
Plan prepare_call(const C& call, std::span<const Tensor> operands, size_t shorter = SIZE_MAX,
                  int64_t threads = 1, bool reproducible = false) {
  std::vector<Operand> given;
  for (const Tensor& t : operands)
    given.push_back(t.defined() ? Operand{true, t.dtype(), t.shape(), t.bytes()} : Operand{});
  if (shorter < given.size()) given[shorter].bytes -= dtype_bytes(given[shorter].dtype, 1);
  const calls::Encoded encoded = calls::encode(call);
  return find_kernel(C::kKernel)
      ->prepare({given, encoded.ints, encoded.floats, threads, reproducible});
}

// A copy of a tensor's bytes that ends at an inaccessible page.
class Fenced {
 public:
  explicit Fenced(Tensor& of) : of_(of) {
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t bytes = of.defined() ? of.bytes() : 0;
    size_ = align_up(bytes, page) + page;
    map_ = static_cast<std::byte*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (map_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(map_ + size_ - page, page, PROT_NONE);
    data_ = map_ + size_ - page - bytes;
    if (bytes) std::memcpy(data_, of.data(), bytes);
  }
  ~Fenced() { munmap(map_, size_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  void* data() const { return of_.defined() ? data_ : nullptr; }
  void give_back() const {
    if (of_.defined() && of_.bytes()) std::memcpy(of_.mutable_data(), data_, of_.bytes());
  }

 private:
  Tensor& of_;
  uint64_t size_;
  std::byte *map_, *data_;
};

// Finds bytes that several tasks write, which is a data race. After each task, inverts the bytes
// that the task has changed, so that a second task changes them again, even if it writes the same
// values.
class WrittenBytes {
 public:
  void add(void* data, uint64_t bytes) {
    auto* const begin = static_cast<std::byte*>(data);
    outputs_.push_back(
        {begin, {begin, begin + bytes}, std::vector<std::byte>(bytes), std::vector<bool>(bytes)});
  }
  void after_task(std::string_view kernel, int64_t task) {
    for (Output& o : outputs_)
      for (size_t i = 0; i < o.before.size(); i++) {
        if (o.data[i] == o.before[i]) continue;
        if (o.written[i]) {
          ADD_FAILURE() << kernel << ": task " << task << " writes byte " << i
                        << ", which another task writes";
          return;
        }
        o.written[i] = true;
        o.result[i] = o.data[i];
        o.before[i] = o.data[i] = ~o.data[i];
      }
  }
  void restore() {
    for (Output& o : outputs_)
      for (size_t i = 0; i < o.result.size(); i++)
        if (o.written[i]) o.data[i] = o.result[i];
  }

 private:
  struct Output {
    std::byte* data;
    std::vector<std::byte> before, result;
    std::vector<bool> written;
  };
  std::vector<Output> outputs_;
};

// Runs each task separately, in reverse order, with scratch memory that is filled with 0xff (NaN).
// The tasks of a round must not write the same bytes; this is checked for small outputs of kernels
// with one round.
template <calls::NamedCall C>
void run_call(const C& call, std::vector<Tensor>& operands, int64_t threads = 1,
              bool reproducible = false) {
  const Plan plan = prepare_call(call, operands, SIZE_MAX, threads, reproducible);
  std::vector<std::unique_ptr<Fenced>> fenced;
  std::vector<void*> data;
  for (Tensor& t : operands) {
    fenced.push_back(std::make_unique<Fenced>(t));
    data.push_back(fenced.back()->data());
  }
  Tensor scratch = Tensor::zeros(DType::u8, {static_cast<int64_t>(plan.scratch_bytes)});
  auto* room = static_cast<std::byte*>(scratch.mutable_data());
  WrittenBytes written;
  uint64_t bytes = 0;
  for (size_t i = operands.size() - plan.outputs; i < operands.size(); i++)
    if (operands[i].defined()) bytes += operands[i].bytes();
  const bool checked = plan.rounds == 1 && plan.tasks > 1 &&
                       static_cast<uint64_t>(plan.tasks) * bytes <= uint64_t{1} << 24;
  for (size_t i = operands.size() - plan.outputs; checked && i < operands.size(); i++)
    if (operands[i].defined()) written.add(data[i], operands[i].bytes());
  for (int64_t round = 0; round < plan.rounds; round++)
    for (int64_t t = plan.tasks; t-- > 0;) {
      std::fill_n(room, plan.scratch_bytes, std::byte{0xff});
      const int64_t task = round * plan.tasks + t;
      plan.run(plan.params.get(), data.data(), task, task + 1, room);
      if (checked) written.after_task(C::kKernel, task);
    }
  if (checked) written.restore();
  for (size_t i = fenced.size() - plan.outputs; i < fenced.size(); i++) fenced[i]->give_back();
}

// Checks that no operand is longer than necessary: the kernel must refuse each operand that lacks
// its last element.
template <calls::NamedCall C>
void expect_needs_every_element(const C& call, std::span<const Tensor> operands) {
  for (size_t i = 0; i < operands.size(); i++)
    if (operands[i].defined() && operands[i].bytes() > 0)
      EXPECT_THROW(prepare_call(call, operands, i), Error) << "operand " << i;
}

}  // namespace poprt::kernels::test
