// Gelu in the internal domain. Passes create it for models whose opset has no Gelu.
#include "ops/common/gelu.h"
#include "ops/common/axes.h"

namespace poprt::ops::poprt_gelu_op {
namespace {

bool to_graphcore(ir::Node& n) {
  n.op_type = n.string_attr("approximate", "none") == "tanh" ? "Gelu" : "GeluErf";
  n.attributes.erase("approximate");
  return true;
}

}  // namespace
}  // namespace poprt::ops::poprt_gelu_op

POPRT_ELEMENTWISE_DEF(
    poprt_gelu, .name = "Gelu", .domain = "poprt",
    .infer = [](InferContext& c) { infer_elementwise(c, ElementwiseTypes::floating, false); },
    .lower = lower_elementwise, .axes = axes::elementwise, .sharing = {.in_place = 1},
    .facts = {.per_element = true,
              .blocked = BlockedForm::unary,
              .elementwise = {append_gelu},
              .epilogue = gelu_epilogue,
              .to_graphcore = to_graphcore})
