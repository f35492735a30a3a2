#include "ops/common/axes.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::poprt_silu_op {
namespace {

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  return p.step(ElementwiseOp::silu, in[0], p.constant(n.float_attr("alpha", 1.0f)));
}

std::optional<Epilogue> epilogue(const ir::Node& n) {
  return Epilogue{Activation::silu, n.float_attr("alpha", 1.0f)};
}

bool to_graphcore(ir::Node& n) {
  if (n.float_attr("alpha", 1.0f) != 1.0f) return false;
  n.op_type = "Swish";
  n.attributes.erase("alpha");
  return true;
}

}  // namespace
}  // namespace poprt::ops::poprt_silu_op

POPRT_ELEMENTWISE_DEF(
    poprt_silu, .name = "Silu", .domain = "poprt",
    .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::floating, false); },
    .lower = lower_elementwise, .axes = axes::elementwise, .sharing = {.in_place = 1},
    .facts = {.per_element = true,
              .blocked = BlockedForm::unary,
              .elementwise = {append},
              .epilogue = epilogue,
              .to_graphcore = to_graphcore})
