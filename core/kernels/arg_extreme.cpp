// arg_extreme: operands [x, y], x seen as [outer, n, inner], y s64 [outer, inner]: the index along
// n of the largest (or smallest) element, the first or the last of equals. ints: [outer, n, inner,
// smallest, last].
#include <algorithm>

#include "base/checked.h"
#include "kernels/common/numbers.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

struct Params {
  int64_t outer, n, inner;
  bool smallest, last;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const T*>(data[0]);
  auto* y = static_cast<int64_t*>(data[1]);
  for (int64_t o = begin; o < end; o++) {
    for (int64_t c = 0; c < p.inner; c++) {
      const T* column = x + o * p.n * p.inner + c;
      int64_t best = 0;
      for (int64_t i = 1; i < p.n; i++) {
        const T v = column[i * p.inner], b = column[best * p.inner];
        if ((p.smallest ? v < b : v > b) || (p.last && v == b)) best = i;
      }
      y[o * p.inner + c] = best;
    }
  }
}

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "arg_extreme", what); };
  check(call.operands.size() == 2 && call.operands[0].present && call.operands[1].present &&
            call.operands[1].dtype == DType::s64,
        "expected operands x and y (s64)");
  check(call.ints.size() == 5, "expected 5 integers");
  auto p = std::make_shared<Params>(
      Params{call.ints[0], call.ints[1], call.ints[2], call.ints[3] != 0, call.ints[4] != 0});
  check(p->outer >= 0 && p->n >= 1 && p->inner >= 0, "an integer is out of range");
  const int64_t results = checked_mul(p->outer, p->inner);
  check(element_count(call.operands[0].shape) == checked_mul(results, p->n) &&
            element_count(call.operands[1].shape) == results,
        "an operand has another size");
  Plan plan;
  if (!visit_number(call.operands[0].dtype, [&]<class T>(T) { plan.run = run<T>; }))
    fail(ErrorCode::unimplemented, "kernel arg_extreme: element type {}",
         dtype_name(call.operands[0].dtype));
  plan.tasks = p->outer;
  plan.work = static_cast<double>(results) * static_cast<double>(p->n);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel arg_extreme_kernel;
const Kernel arg_extreme_kernel = {"arg_extreme", prepare};

}  // namespace poprt::kernels
