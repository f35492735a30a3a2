#include "ops/common/elementwise.h"

namespace poprt::ops::is_inf_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const auto wanted = [&](const char* key) {
    return p.constant(n.int_attr(key, 1) != 0 ? 1.0f : 0.0f);
  };
  const ElementwiseValue negative = wanted("detect_negative");
  return p.step(ElementwiseOp::is_inf, in[0], negative, wanted("detect_positive"));
}

}  // namespace
}  // namespace poprt::ops::is_inf_op

POPRT_ELEMENTWISE_BOOL_OP(is_inf, "IsInf", 10, floating, .elementwise = {append})
