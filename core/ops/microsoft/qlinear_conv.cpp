// Inputs are the same as for QLinearConv of ai.onnx. With channels_last, x and y are [N,H,W,C]; w
// keeps its layout.
#include "ops/common/contrib_quantized.h"
#include "ops/common/flops.h"

namespace poprt::ops::microsoft_qlinear_conv_op {
namespace {

void expand(Expansion& e) {
  const bool last = e.node.int_attr("channels_last", 0) != 0;
  ir::Value* x = last ? channels_first(e, e.in(0)) : e.in(0);
  ir::Value* y = e.add_like(
      "QLinearConv",
      {x, e.in(1), e.in(2), e.in(3), e.in(4), e.in(5), e.in(6), e.in(7), e.in_or_null(8)},
      {"channels_last"});
  e.out(0, last ? channels_last(e, y) : y);
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_conv_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_conv_op, "com.microsoft", "QLinearConv", expand,
                           .f32_inputs = ~0u, .flops = flops::qlinear_conv,
                           .trial = {"T[1,4,4,4]; f32[]; T[]; T[4,4,1,1]; f32[]; T[]; f32[]; T[]"})
