// Gelu in the internal domain. Passes and decompositions create it, because Gelu of ai.onnx exists
// only since opset 20.
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
