// Tests that run many calls of kernels. A test program defines found_calls(), which returns the
// calls. Each call must stay inside its operands, which end at pages that cannot be touched, and
// its tasks may run in any order. A few calls of each kernel are then changed in one fact (one
// operand less, a shorter operand, another type, another integer, a NaN), because a hostile program
// file may contain such calls: prepare() must refuse each of them, or run() must stay inside its
// operands. Include this header in one file of a test program.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/checked.h"
#include "base/error.h"
#include "base/tensor.h"
#include "kernels/kernel.h"
#include "program/program.h"

namespace poprt::test {

// One call, with its operands' shapes kept alive.
struct OneCall {
  std::string kernel;
  std::vector<kernels::Operand> operands;
  std::vector<Shape> shapes;
  std::vector<int64_t> ints;
  std::vector<float> floats;

  kernels::Call call() {
    for (size_t i = 0; i < operands.size(); i++) operands[i].shape = shapes[i];
    return {operands, ints, floats, 1};
  }
};

// Returns the call of an instruction of a program.
inline OneCall call_of(const program::Program& p, const program::Instruction& in) {
  OneCall c{p.kernels[in.kernel], {}, {}, in.ints, in.floats};
  for (const uint32_t id : in.operands) {
    const bool there = id != program::kNoBuffer;
    c.shapes.push_back(there ? p.buffers[id].shape : Shape());
    c.operands.push_back(there
                             ? kernels::Operand{true, p.buffers[id].dtype, {}, p.buffers[id].bytes}
                             : kernels::Operand());
  }
  return c;
}

// Returns the calls to test. The file that includes this one defines the function.
const std::vector<OneCall>& found_calls();

// Returns one call for each kernel and number of operands, integers and floats, at most twelve for
// each kernel.
inline const std::vector<OneCall>& all_calls() {
  static const std::vector<OneCall> calls = [] {
    std::vector<OneCall> kept;
    std::set<std::tuple<std::string, size_t, size_t, size_t>> known;
    std::map<std::string, int> count;
    for (const OneCall& c : found_calls())
      if (kernels::find_kernel(c.kernel) &&
          known.emplace(c.kernel, c.operands.size(), c.ints.size(), c.floats.size()).second &&
          count[c.kernel]++ < 12)
        kept.push_back(c);
    return kept;
  }();
  return calls;
}

// Kernels that samples of operators call, but no compiled graph of compiled_calls_test.cpp.
inline constexpr std::string_view kKernelsOfSamples[] = {"check_numbers",
                                                         "crop_and_resize",
                                                         "dynamic_time_warping",
                                                         "expert_rows",
                                                         "fill",
                                                         "inverse",
                                                         "label_map",
                                                         "label_table",
                                                         "linear_attention",
                                                         "quantize_rows",
                                                         "random",
                                                         "shift",
                                                         "sum_bytes",
                                                         "svm_classify",
                                                         "tf_idf",
                                                         "tree_ensemble"};

// Memory in front of a page that cannot be touched. Operands that are aligned as in an arena have
// up to 63 bytes between their end and the page; those bytes hold a pattern that must not change.
class Fence {
 public:
  static constexpr size_t kRoom = size_t{4} << 20, kPage = 4096;
  Fence() {
    base_ = static_cast<std::byte*>(mmap(nullptr, kRoom + 2 * kPage, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    EXPECT_EQ(mprotect(base_ + kPage, kRoom, PROT_READ | PROT_WRITE), 0);
  }
  ~Fence() { munmap(base_, kRoom + 2 * kPage); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  void* place(uint64_t bytes, uint64_t alignment = 64) {
    bytes_ = bytes;
    alignment_ = alignment;
    std::memset(end() - padded(), 0, padded());
    std::memset(end() - padded() + bytes, 0x5a, padded() - bytes);
    std::memset(end() - padded() - 64, 0x5a, 64);
    return end() - padded();
  }
  bool whole() const {
    const std::byte* at = end() - padded();
    for (size_t i = bytes_; i < padded(); i++)
      if (at[i] != std::byte{0x5a}) return false;
    for (int i = 1; i <= 64; i++)
      if (at[-i] != std::byte{0x5a}) return false;
    return true;
  }

 private:
  std::byte* end() const { return base_ + kPage + kRoom; }
  size_t padded() const { return align_up(bytes_, alignment_); }
  std::byte* base_ = nullptr;
  uint64_t bytes_ = 0, alignment_ = 64;
};

inline sigjmp_buf caught;
inline void on_fault(int signal) { siglongjmp(caught, signal); }

// Runs the call and returns what went wrong, or an empty text. If `tight`, the operands end exactly
// at the page: callers align their memory only for its elements.
inline std::string run_fenced(const kernels::Plan& plan, const OneCall& c, bool tight = false) {
  static Fence fences[24], scratch;
  if (c.operands.size() > 24 || plan.scratch_bytes > Fence::kRoom - 64) return {};
  std::vector<void*> data;
  for (size_t i = 0; i < c.operands.size(); i++) {
    if (c.operands[i].bytes > Fence::kRoom - 64) return {};
    const uint64_t own = std::max<uint64_t>(dtype_bytes(c.operands[i].dtype, 1), 1);
    data.push_back(c.operands[i].present ? fences[i].place(c.operands[i].bytes, tight ? own : 64)
                                         : nullptr);
  }
  auto* room = static_cast<std::byte*>(scratch.place(plan.scratch_bytes));
  struct sigaction act = {}, old_segv, old_fpe, old_bus;
  act.sa_handler = on_fault;
  act.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &act, &old_segv);
  sigaction(SIGFPE, &act, &old_fpe);
  sigaction(SIGBUS, &act, &old_bus);
  std::string problem;
  if (const int signal = sigsetjmp(caught, 1))
    problem = signal == SIGFPE ? "divides by zero" : "leaves its operands";
  else
    plan.run(plan.params.get(), data.data(), 0, plan.tasks * plan.rounds, room);
  sigaction(SIGSEGV, &old_segv, nullptr);
  sigaction(SIGFPE, &old_fpe, nullptr);
  sigaction(SIGBUS, &old_bus, nullptr);
  for (size_t i = 0; i < c.operands.size() && problem.empty(); i++)
    if (data[i] && !fences[i].whole()) problem = fmt::format("writes outside operand {}", i);
  if (problem.empty() && !scratch.whole()) problem = "writes outside its scratch memory";
  return problem;
}

inline std::string described(const OneCall& c) {
  std::string s = c.kernel + "(";
  for (size_t i = 0; i < c.operands.size(); i++)
    s += fmt::format("{}{}", i ? ", " : "",
                     c.operands[i].present
                         ? fmt::format("{}{} {} bytes", dtype_name(c.operands[i].dtype),
                                       shape_string(c.shapes[i]), c.operands[i].bytes)
                         : "-");
  s += ") ints";
  for (const int64_t i : c.ints) s += fmt::format(" {}", i);
  s += " floats";
  for (const float f : c.floats) s += fmt::format(" {}", f);
  return s;
}

// Returns the calls of each kernel that differ in integers, floats, types or shapes, at most 500
// for each kernel.
inline const std::vector<OneCall>& varied_calls() {
  static const std::vector<OneCall> calls = [] {
    std::vector<OneCall> kept;
    std::set<std::string> known;
    std::map<std::string, int> count;
    for (const OneCall& c : found_calls())
      if (kernels::find_kernel(c.kernel) && known.insert(described(c)).second &&
          count[c.kernel]++ < 500)
        kept.push_back(c);
    return kept;
  }();
  return calls;
}

enum class Answer { refused, ran, wrong };

inline Answer try_call(OneCall c, std::string_view what) {
  try {
    const kernels::Plan plan = kernels::find_kernel(c.kernel)->prepare(c.call());
    if (!plan.run || plan.tasks < 0 || plan.rounds < 1 || plan.outputs > c.operands.size()) {
      ADD_FAILURE() << what << ": a plan that makes no sense: " << described(c);
      return Answer::wrong;
    }
    // A call that would take long is not run, because a shorter call has the same checks.
    if (plan.tasks == 0 || plan.work > 1e8 || plan.rounds > 100'000 || plan.tasks > 100'000)
      return Answer::ran;
    const std::string problem = run_fenced(plan, c);
    EXPECT_EQ(problem, "") << what << ": " << described(c);
    return problem.empty() ? Answer::ran : Answer::wrong;
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::internal) << what << ": " << e.message();
    if (e.code() != ErrorCode::out_of_range)  // a size that overflows
      EXPECT_TRUE(e.message().starts_with(fmt::format("kernel {}: ", c.kernel)))
          << what << ": " << e.message();
    return Answer::refused;
  } catch (const std::exception& e) {
    ADD_FAILURE() << what << ": " << e.what() << ": " << described(c);
    return Answer::wrong;
  }
}

// The parameter is a kernel. A test finds the calls of this kernel and changes them.
class KernelCall : public ::testing::TestWithParam<const kernels::Kernel*> {
 protected:
  // Calls `check` with each call of the kernel as the original.
  void each(const std::function<void()>& check) { each(all_calls(), check); }
  void each(const std::vector<OneCall>& calls, const std::function<void()>& check) {
    for (const OneCall& call : calls)
      if (call.kernel == GetParam()->name) {
        original_ = &call;
        check();
      }
  }
  const OneCall& original() const { return *original_; }
  Answer altered(const std::string& what, const std::function<void(OneCall&)>& change) const {
    OneCall c = original();
    change(c);
    return try_call(std::move(c), what);
  }

 private:
  const OneCall* original_ = nullptr;
};

TEST_P(KernelCall, OriginalCallRunsInsideItsOperands) {
  each(varied_calls(),
       [&] { EXPECT_EQ(try_call(original(), "as it is"), Answer::ran) << described(original()); });
}

TEST_P(KernelCall, AccessesNoMemoryOutsideItsOperands) {
  each(varied_calls(), [&] {
    OneCall c = original();
    const kernels::Plan plan = kernels::find_kernel(c.kernel)->prepare(c.call());
    if (plan.tasks == 0 || plan.work > 1e8 || plan.rounds > 1000 || plan.tasks > 10'000) return;
    EXPECT_EQ(run_fenced(plan, c, true), "") << described(c);
  });
}

// Memory of every operand. It has the same numbers each time. Integers of more than a byte are 0, 1
// or 2, so that they are valid indices.
class Memory {
 public:
  explicit Memory(const OneCall& c) {
    uint32_t state = 1;
    const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 16; };
    for (size_t i = 0; i < c.operands.size(); i++) {
      const kernels::Operand& o = c.operands[i];
      tensors_.push_back(o.present ? Tensor::zeros(DType::u8, {static_cast<int64_t>(o.bytes)})
                                   : Tensor());
      pointers_.push_back(o.present ? tensors_.back().mutable_data() : nullptr);
      if (!o.present || o.bytes == 0) continue;
      const auto fill = [&]<class T>(T, auto&& value) {
        for (uint64_t k = 0; k < o.bytes / sizeof(T); k++)
          static_cast<T*>(pointers_.back())[k] = static_cast<T>(value());
      };
      const auto real = [&] { return static_cast<float>(next() % 129) / 64 - 1; };
      const auto whole = [&] { return next() % 3; };
      switch (o.dtype) {
        case DType::f32: fill(float{}, real); break;
        case DType::f64: fill(double{}, real); break;
        case DType::f16: fill(f16_t{}, [&] { return to_f16(real()); }); break;
        case DType::bf16: fill(bf16_t{}, [&] { return to_bf16(real()); }); break;
        case DType::s32:
        case DType::u32: fill(uint32_t{}, whole); break;
        case DType::s64:
        case DType::u64: fill(uint64_t{}, whole); break;
        case DType::s16:
        case DType::u16: fill(uint16_t{}, whole); break;
        case DType::boolean: fill(uint8_t{}, [&] { return next() % 2; }); break;
        default: fill(uint8_t{}, [&] { return next() % 256; });
      }
    }
  }
  void* const* pointers() const { return pointers_.data(); }
  // Whether the last `count` operands have equal bytes.
  bool same(const Memory& other, size_t count) const {
    for (size_t i = tensors_.size() - count; i < tensors_.size(); i++)
      if (tensors_[i].defined() && !tensors_[i].same_as(other.tensors_[i])) return false;
    return true;
  }

 private:
  std::vector<Tensor> tensors_;
  std::vector<void*> pointers_;
};

// The results do not depend on the thread or the order of the tasks, or on the earlier contents of
// the scratch memory (kernels/kernel.h).
TEST_P(KernelCall, TasksAreIndependentOfOrder) {
  each(varied_calls(), [&] {
    OneCall c = original();
    const kernels::Plan plan = kernels::find_kernel(c.kernel)->prepare(c.call());
    // The second run of a plan draws other random numbers, so each order has a plan.
    const kernels::Plan again = kernels::find_kernel(c.kernel)->prepare(c.call());
    if (plan.work > 1e8 || plan.rounds > 1000 || plan.tasks > 10'000) return;
    Tensor room = Tensor::zeros(DType::u8, {static_cast<int64_t>(plan.scratch_bytes)});
    auto* scratch = static_cast<std::byte*>(room.mutable_data());
    const Memory together(c), alone(c);
    for (int64_t r = 0; r < plan.rounds && plan.tasks; r++)
      plan.run(plan.params.get(), together.pointers(), r * plan.tasks, (r + 1) * plan.tasks,
               scratch);
    for (int64_t r = 0; r < plan.rounds; r++)
      for (int64_t t = plan.tasks; t-- > 0;) {
        std::memset(scratch, 0xff, plan.scratch_bytes);
        const int64_t task = r * plan.tasks + t;
        again.run(again.params.get(), alone.pointers(), task, task + 1, scratch);
      }
    EXPECT_TRUE(together.same(alone, plan.outputs)) << described(c);
  });
}

TEST_P(KernelCall, WithoutOperandsIsRefused) {
  each([&] {
    EXPECT_EQ(altered("no operands",
                      [](OneCall& c) {
                        c.operands.clear();
                        c.shapes.clear();
                      }),
              Answer::refused);
    EXPECT_EQ(altered("one operand less",
                      [](OneCall& c) {
                        c.operands.pop_back();
                        c.shapes.pop_back();
                      }),
              Answer::refused)
        << described(original());
  });
}

TEST_P(KernelCall, WithMoreOperandsIsRefused) {
  each([&] {
    EXPECT_EQ(altered("an operand more",
                      [](OneCall& c) {
                        c.operands.emplace_back();
                        c.shapes.emplace_back();
                      }),
              Answer::refused)
        << described(original());
  });
}

TEST_P(KernelCall, WithAnOperandMissingShortOrOfAnotherType) {
  each([&] {
    for (size_t i = 0; i < original().operands.size(); i++) {
      if (!original().operands[i].present) continue;
      const std::string name = "operand " + std::to_string(i);
      altered(name + " absent", [&](OneCall& c) {
        c.operands[i] = {};
        c.shapes[i] = {};
      });
      const auto resized = [&](Shape shape, DType dtype) {
        altered(name + " " + std::string(dtype_name(dtype)) + shape_string(shape), [&](OneCall& c) {
          c.shapes[i] = shape;
          c.operands[i].dtype = dtype;
          c.operands[i].bytes = dtype_bytes(dtype, element_count(shape));
        });
      };
      const Shape& shape = original().shapes[i];
      const DType dtype = original().operands[i].dtype;
      for (const DType t :
           {DType::u8, DType::s64, DType::f32, DType::f16, DType::f64, DType::boolean})
        if (t != dtype) resized(shape, t);
      for (size_t axis = 0; axis < shape.size(); axis++) {
        for (const int64_t d : {shape[axis] - 1, int64_t{0}, shape[axis] + 1}) {
          Shape other = shape;
          other[axis] = d;
          if (d >= 0) resized(other, dtype);
        }
      }
      resized({}, dtype);
      resized({0}, dtype);
      resized({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, dtype);
    }
  });
}

TEST_P(KernelCall, WithAnotherInteger) {
  each([&] {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < original().ints.size(); i++) {
      const int64_t v = original().ints[i];
      for (const int64_t other :
           {v + 1, v - 1, static_cast<int64_t>(static_cast<uint64_t>(v) * 2), v + 7, int64_t{0},
            int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{3}, int64_t{255}, int64_t{-2},
            int64_t{1} << 31, int64_t{1} << 40, kMost, -kMost - 1})
        if (other != v)
          altered(fmt::format("integer {} is {}", i, other),
                  [&](OneCall& c) { c.ints[i] = other; });
    }
    if (original().ints.empty()) return;
    altered("no integers", [](OneCall& c) { c.ints.clear(); });
    altered("one integer less", [](OneCall& c) { c.ints.pop_back(); });
    altered("one integer more", [](OneCall& c) { c.ints.push_back(1); });
  });
}

TEST_P(KernelCall, WithAnotherFloat) {
  each([&] {
    for (size_t i = 0; i < original().floats.size(); i++)
      for (const float other : {0.0f, -1.0f, std::nanf(""), INFINITY, -INFINITY, 1e30f})
        altered(fmt::format("float {} is {}", i, other), [&](OneCall& c) { c.floats[i] = other; });
    if (original().floats.empty()) return;
    altered("no floats", [](OneCall& c) { c.floats.clear(); });
    altered("one float less", [](OneCall& c) { c.floats.pop_back(); });
  });
}

INSTANTIATE_TEST_SUITE_P(All, KernelCall, ::testing::ValuesIn(kernels::all_kernels()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace poprt::test
