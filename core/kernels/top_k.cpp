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
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  auto* values = static_cast<T*>(data[1]);
  auto* indices = static_cast<int64_t*>(data[2]);
  auto* order = reinterpret_cast<int64_t*>(scratch);
  for (int64_t t = begin; t < end; t++) {
    const int64_t outer = t / p.inner, column = t % p.inner;
    const T* from = x + outer * p.n * p.inner + column;
    for (int64_t i = 0; i < p.n; i++) order[i] = i;
    std::partial_sort(order, order + p.k, order + p.n, [&](int64_t a, int64_t b) {
      const T u = from[a * p.inner], v = from[b * p.inner];
      // A NaN sorts first, so that the order stays strict.
      const bool un = u != u, vn = v != v;
      if (un || vn) return un != vn ? un : a < b;
      if (u != v) return p.largest ? u > v : u < v;
      return a < b;
    });
    for (int64_t i = 0; i < p.k; i++) {
      const int64_t to = (outer * p.k + i) * p.inner + column;
      if (values) values[to] = from[order[i] * p.inner];
      if (indices) indices[to] = order[i];
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
  plan.scratch_bytes = static_cast<size_t>(p->n) * sizeof(int64_t);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel top_k_kernel;
const Kernel top_k_kernel = {"top_k", prepare};

}  // namespace poprt::kernels
