// top_k (calls/top_k.h). A task is one column.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/checked.h"
#include "kernels/calls/top_k.h"
#include "kernels/common/numbers.h"
#include "kernels/kernel.h"

namespace poprt::kernels::top_k_kernel {
namespace {

using Params = calls::TopK;

template <class T>
struct Entry {
  T value;
  int64_t index;
};

// A NaN is first, which keeps the order strict.
template <class T, bool kLargest>
bool before(const Entry<T>& a, const Entry<T>& b) {
  const bool an = a.value != a.value, bn = b.value != b.value;
  if (an || bn) return an != bn ? an : a.index < b.index;
  if (a.value != b.value) return kLargest ? a.value > b.value : a.value < b.value;
  return a.index < b.index;
}

// Calls better(v, i) for the elements from `first` on that may be ordered before one of value
// worst(). Most are not, which is tested for several elements at a time.
template <class T, bool kLargest, class Worst, class Better>
void each_better(const T* x, int64_t first, int64_t n, int64_t step, Worst worst, Better better) {
  constexpr int64_t kLanes = 16;
  const auto passes = [](T v, T w) { return kLargest ? !(v <= w) : !(v >= w); };
  int64_t i = first;
  while (i < n) {
    const int64_t end = std::min(n, i + kLanes);
    if (step == 1 && end - i == kLanes) {
      const T w = worst();
      int any = 0;
      for (int64_t l = 0; l < kLanes; l++) any |= passes(x[i + l], w);
      if (!any) {
        i = end;
        continue;
      }
    }
    for (; i < end; i++)
      if (passes(x[i * step], worst())) better(x[i * step], i);
  }
}

// Keeps the best elements so far in order; later ones are inserted from the end. For small k.
template <class T, bool kLargest>
void best_by_insertion(const Params& p, const T* x, Entry<T>* best) {
  int64_t count = 0;
  const auto insert = [&](T v, int64_t i) {
    const Entry<T> e = {v, i};
    if (count == p.k && !before<T, kLargest>(e, best[count - 1])) return;
    int64_t at = count < p.k ? count++ : count - 1;
    for (; at > 0 && before<T, kLargest>(e, best[at - 1]); at--) best[at] = best[at - 1];
    best[at] = e;
  };
  for (int64_t i = 0; i < p.k; i++) insert(x[i * p.inner], i);
  each_better<T, kLargest>(x, p.k, p.n, p.inner, [&] { return best[p.k - 1].value; }, insert);
}

// Keeps the best elements so far in a heap with the worst of them on top.
template <class T, bool kLargest>
void best_by_heap(const Params& p, const T* x, Entry<T>* best) {
  const auto order = before<T, kLargest>;
  for (int64_t i = 0; i < p.k; i++) best[i] = {x[i * p.inner], i};
  std::make_heap(best, best + p.k, order);
  each_better<T, kLargest>(
      x, p.k, p.n, p.inner, [&] { return best[0].value; },
      [&](T v, int64_t i) {
        if (!order({v, i}, best[0])) return;
        std::pop_heap(best, best + p.k, order);
        best[p.k - 1] = {v, i};
        std::push_heap(best, best + p.k, order);
      });
  std::sort_heap(best, best + p.k, order);
}

// Combines a number of up to 32 bits and its index into one integer with the same order.
template <class T, bool kLargest>
uint64_t key_of(T v, int64_t index) {
  uint32_t rank;
  if constexpr (std::is_floating_point_v<T>) {
    const auto bits = std::bit_cast<uint32_t>(v + T{0});  // makes both zeros equal
    rank = bits >> 31 ? ~bits : bits | 0x80000000u;
    if (kLargest) rank = ~rank;
    if (v != v) rank = 0;
  } else {
    const auto wide = static_cast<uint32_t>(v);
    rank = std::is_signed_v<T> ? wide ^ 0x80000000u : wide;
    if (kLargest) rank = ~rank;
  }
  return uint64_t{rank} << 32 | static_cast<uint32_t>(index);
}

// Keeps at most 2 k elements in no particular order. When there are 2 k, only the better half is
// kept. At the end, the first k are sorted.
template <class T, bool kLargest>
void best_by_halves(const Params& p, const T* x, uint64_t* keys) {
  const int64_t room = 2 * p.k;
  int64_t count = 0;
  T worst{};
  const auto halve = [&] {
    std::nth_element(keys, keys + p.k - 1, keys + count);
    count = p.k;
    worst = x[static_cast<int64_t>(keys[p.k - 1] & 0xffffffffu) * p.inner];
  };
  const auto push = [&](T v, int64_t i) {
    keys[count++] = key_of<T, kLargest>(v, i);
    if (count == room) halve();
  };
  for (int64_t i = 0; i < std::min(room, p.n); i++) push(x[i * p.inner], i);
  each_better<T, kLargest>(x, room, p.n, p.inner, [&] { return worst; }, push);
  if (count > p.k) halve();
  std::sort(keys, keys + p.k);
}

constexpr int64_t kFew = 16;

// Whether the best elements are found by keys that combine an element and its index: if both fit
// into 64 bits, and k is not small.
template <class T>
bool has_keys(const Params& p) {
  return sizeof(T) <= 4 && p.k > kFew && p.n < (int64_t{1} << 31);
}

template <class T, bool kLargest>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  auto* values = static_cast<T*>(data[1]);
  auto* indices = static_cast<int64_t*>(data[2]);
  for (int64_t t = begin; t < end; t++) {
    const int64_t outer = t / p.inner, column = t % p.inner;
    const T* from = x + outer * p.n * p.inner + column;
    const auto put = [&](int64_t i, int64_t index, T value) {
      const int64_t to = (outer * p.k + i) * p.inner + column;
      if (values) values[to] = value;
      if (indices) indices[to] = index;
    };
    if constexpr (sizeof(T) <= 4) {
      if (has_keys<T>(p)) {
        auto* keys = reinterpret_cast<uint64_t*>(scratch);
        best_by_halves<T, kLargest>(p, from, keys);
        for (int64_t i = 0; i < p.k; i++) {
          const auto index = static_cast<int64_t>(keys[i] & 0xffffffffu);
          put(i, index, from[index * p.inner]);
        }
        continue;
      }
    }
    auto* best = reinterpret_cast<Entry<T>*>(scratch);
    (p.k <= kFew ? best_by_insertion<T, kLargest> : best_by_heap<T, kLargest>)(p, from, best);
    for (int64_t i = 0; i < p.k; i++) put(i, best[i].index, best[i].value);
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "top_k", what); };
  check(call.operands.size() == 3 && call.operands[0].present, "expected x, values, indices");
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const int64_t columns = checked_mul(p->outer, p->inner);
  check(element_count(call.operands[0].shape) == checked_mul(columns, p->n), "x has another size");
  const int64_t results = checked_mul(columns, p->k);
  const Operand &values = call.operands[1], &indices = call.operands[2];
  check(!values.present ||
            (values.dtype == call.operands[0].dtype && element_count(values.shape) == results),
        "values has another size or dtype");
  check(
      !indices.present || (indices.dtype == DType::s64 && element_count(indices.shape) == results),
      "indices has another size or dtype");
  Plan plan;
  plan.outputs = 2;
  if (!visit_number(call.operands[0].dtype,
                    [&]<class T>(T) { plan.run = p->largest ? run<T, true> : run<T, false>; }))
    fail(ErrorCode::unimplemented, "kernel top_k: element type {}",
         dtype_name(call.operands[0].dtype));
  plan.tasks = results == 0 ? 0 : columns;
  plan.work = static_cast<double>(columns) * static_cast<double>(p->n) * 4;
  plan.scratch_bytes = static_cast<size_t>(checked_mul(p->k, int64_t{16}));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"top_k", prepare};

}  // namespace poprt::kernels::top_k_kernel
