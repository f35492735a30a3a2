// top_k: operands [x, values, indices], x seen as [outer, n, inner], results as [outer, k, inner]:
// the k largest (or smallest) elements along n in order, equals by lower index; indices are s64.
// ints: [outer, n, inner, k, largest].
#include <algorithm>

#include "base/checked.h"
#include "kernels/common/numbers.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

struct Params {
  int64_t outer, n, inner, k;
  bool largest;
};

template <class T>
struct Entry {
  T value;
  int64_t index;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  auto* values = static_cast<T*>(data[1]);
  auto* indices = static_cast<int64_t*>(data[2]);
  auto* best = reinterpret_cast<Entry<T>*>(scratch);
  // A NaN sorts first, so that the order stays strict.
  const auto before = [&p](const Entry<T>& a, const Entry<T>& b) {
    const bool an = a.value != a.value, bn = b.value != b.value;
    if (an || bn) return an != bn ? an : a.index < b.index;
    if (a.value != b.value) return p.largest ? a.value > b.value : a.value < b.value;
    return a.index < b.index;
  };
  for (int64_t t = begin; t < end; t++) {
    const int64_t outer = t / p.inner, column = t % p.inner;
    const T* from = x + outer * p.n * p.inner + column;
    for (int64_t i = 0; i < p.k; i++) best[i] = {from[i * p.inner], i};
    if (p.k < p.n) {
      // A heap of the best so far with the worst of them on top; few later elements enter it.
      std::make_heap(best, best + p.k, before);
      T worst = best[0].value;
      for (int64_t i = p.k; i < p.n; i++) {
        const T v = from[i * p.inner];
        if (p.largest ? v <= worst : v >= worst) continue;
        if (!before({v, i}, best[0])) continue;
        std::pop_heap(best, best + p.k, before);
        best[p.k - 1] = {v, i};
        std::push_heap(best, best + p.k, before);
        worst = best[0].value;
      }
      std::sort_heap(best, best + p.k, before);
    } else {
      std::sort(best, best + p.k, before);
    }
    for (int64_t i = 0; i < p.k; i++) {
      const int64_t to = (outer * p.k + i) * p.inner + column;
      if (values) values[to] = best[i].value;
      if (indices) indices[to] = best[i].index;
    }
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "top_k", what); };
  check(call.operands.size() == 3 && call.operands[0].present, "expected x, values, indices");
  check(call.ints.size() == 5, "expected 5 integers");
  auto p = std::make_shared<Params>(
      Params{call.ints[0], call.ints[1], call.ints[2], call.ints[3], call.ints[4] != 0});
  check(p->outer >= 0 && p->n >= 0 && p->inner >= 0 && p->k >= 0 && p->k <= p->n,
        "an integer is out of range");
  const int64_t columns = checked_mul(p->outer, p->inner);
  check(element_count(call.operands[0].shape) == checked_mul(columns, p->n), "x has another size");
  const int64_t results = checked_mul(columns, p->k);
  const Operand &values = call.operands[1], &indices = call.operands[2];
  check(!values.present ||
            (values.dtype == call.operands[0].dtype && element_count(values.shape) == results),
        "values do not fit");
  check(
      !indices.present || (indices.dtype == DType::s64 && element_count(indices.shape) == results),
      "indices do not fit");
  Plan plan;
  plan.outputs = 2;
  if (!visit_number(call.operands[0].dtype, [&]<class T>(T) { plan.run = run<T>; }))
    fail(ErrorCode::unimplemented, "kernel top_k: element type {}",
         dtype_name(call.operands[0].dtype));
  plan.tasks = results == 0 ? 0 : columns;
  plan.work = static_cast<double>(columns) * static_cast<double>(p->n) * 4;
  plan.scratch_bytes = static_cast<size_t>(checked_mul(p->k, int64_t{16}));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel top_k_kernel;
const Kernel top_k_kernel = {"top_k", prepare};

}  // namespace poprt::kernels
