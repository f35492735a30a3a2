#include "ops/common/elementwise.h"

namespace poprt::ops::mean_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const ElementwiseValue sum = append_fold<ElementwiseOp::add>(p, n, in);
  if (in.size() == 1) return sum;
  return p.step(ElementwiseOp::div, sum, p.constant(static_cast<float>(in.size())));
}

}  // namespace
}  // namespace poprt::ops::mean_op

POPRT_ELEMENTWISE_OP(mean, "Mean", 1, floating, .elementwise = {append, 1, kAnyNumber},
                     .monotone = Monotone::all)
