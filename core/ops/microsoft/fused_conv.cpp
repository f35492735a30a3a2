// Inputs: X, W, B?, Z? (like the result). Conv, plus Z, followed by an activation.
#include "ops/common/contrib_activation.h"

namespace poprt::ops::microsoft_fused_conv_op {
namespace {

void expand(Expansion& e) {
  ir::Value* y =
      e.add_like("Conv", {e.in(0), e.in(1), e.in_or_null(2)}, {"activation", "activation_params"});
  if (e.has(3)) y = e.add("Add", {y, e.in(3)});
  e.out(0, activate(e, y, e.node.string_attr("activation", ""),
                    e.node.floats_attr("activation_params")));
}

}  // namespace
}  // namespace poprt::ops::microsoft_fused_conv_op

POPRT_EXPANSION(microsoft_fused_conv_op, "com.microsoft", "FusedConv", expand)
