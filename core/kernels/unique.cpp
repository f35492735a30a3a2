// unique (calls/unique.h). One task.
#include <algorithm>

#include "kernels/calls/unique.h"
#include "kernels/common/numbers.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::unique_kernel {
namespace {

using Params = calls::Unique;

template <class T>
int compare(T a, T b) {
  const bool an = a != a, bn = b != b;
  if (an || bn) return static_cast<int>(an) - static_cast<int>(bn);
  return a < b ? -1 : a > b;
}

template <class T>
void run(const void* params, void* const* data, int64_t, int64_t, std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const T* x = static_cast<const T*>(data[0]);
  T* y = static_cast<T*>(data[1]);
  const auto out = [&](size_t i) { return static_cast<int64_t*>(data[i]); };
  auto *order = reinterpret_cast<int64_t*>(scratch), *group = order + p.n;
  const auto items = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < p.outer; o++)
      for (int64_t i = 0; i < p.inner; i++)
        if (const int c = compare(x[(o * p.n + a) * p.inner + i], x[(o * p.n + b) * p.inner + i]))
          return c;
    return 0;
  };
  if (p.outer == 1 && p.inner == 1) {
    // Numbers are sorted together with their positions, in the memory of `group` and the following
    // arrays.
    struct Item {
      T value;
      int64_t at;
    };
    static_assert(sizeof(Item) <= 2 * sizeof(int64_t));
    auto* list = reinterpret_cast<Item*>(group);
    for (int64_t i = 0; i < p.n; i++) list[i] = {x[i], i};
    std::sort(list, list + p.n, [](const Item& a, const Item& b) {
      const int c = compare(a.value, b.value);
      return c ? c < 0 : a.at < b.at;
    });
    for (int64_t i = 0; i < p.n; i++) order[i] = list[i].at;
  } else {
    for (int64_t i = 0; i < p.n; i++) order[i] = i;
    std::sort(order, order + p.n, [&](int64_t a, int64_t b) {
      const int c = items(a, b);
      return c ? c < 0 : a < b;
    });
  }
  // group[item] is its first occurrence; equal items are adjacent in `order`.
  for (int64_t i = 0, head = 0; i < p.n; i++) {
    if (i == 0 || items(order[i], order[i - 1])) head = order[i];
    group[order[i]] = head;
  }
  for (size_t k : {2, 4})
    if (data[k]) std::fill(out(k), out(k) + p.bound, int64_t{0});
  if (y) std::fill(y, y + p.outer * p.bound * p.inner, T{});
  // The ranks of the first occurrences replace their entries in the order.
  int64_t rank = 0;
  const auto emit = [&](int64_t head) {
    if (rank < p.bound) {
      if (data[2]) out(2)[rank] = head;
      for (int64_t o = 0; y && o < p.outer; o++)
        std::copy_n(x + (o * p.n + head) * p.inner, p.inner, y + (o * p.bound + rank) * p.inner);
    }
    order[head] = rank++;
  };
  if (p.sorted) {
    // The order is overwritten below, so the first occurrences are collected first.
    int64_t* heads = group + p.n;
    int64_t count = 0;
    for (int64_t i = 0; i < p.n; i++)
      if (group[order[i]] == order[i]) heads[count++] = order[i];
    for (int64_t i = 0; i < count; i++) emit(heads[i]);
  } else {
    for (int64_t i = 0; i < p.n; i++)
      if (group[i] == i) emit(i);
  }
  for (int64_t i = 0; i < p.n; i++) {
    const int64_t r = order[group[i]];
    if (data[3]) out(3)[i] = r;
    if (data[4] && r < p.bound) out(4)[r]++;
  }
}

Plan prepare(const Call& call) {
  const Operands r("unique", call, 5);
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const DType type = r.dtype(0);
  r.needs(0, type, {p->outer, p->n, p->inner});
  r.needs_if_present(1, type, {p->outer, p->bound, p->inner});
  r.needs_if_present(2, DType::s64, {p->bound});
  r.needs_if_present(3, DType::s64, {p->n});
  r.needs_if_present(4, DType::s64, {p->bound});
  const bool counted = (r.has(2) || r.has(4)) && p->bound >= p->n;
  r.check((p->outer > 0 && p->inner > 0) || p->n <= 1 || r.has(3) || counted,
          "no operand limits the number of items");
  Plan plan;
  plan.outputs = 4;
  if (!visit_number(type, [&]<class T>(T) { plan.run = run<T>; })) r.fail_dtype(0);
  plan.work = static_cast<double>(p->n) * 40;
  plan.scratch_bytes = static_cast<size_t>(dtype_bytes(DType::s64, checked_mul(p->n, int64_t{3})));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"unique", prepare};

}  // namespace poprt::kernels::unique_kernel
