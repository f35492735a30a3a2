// Inputs: X, x_scale, x_zero_point?, y_scale, y_zero_point?
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_average_pool_op {
namespace {

void expand(Expansion& e) {
  const bool last = e.node.int_attr("channels_last", 0) != 0;
  ir::Value* x = dequantized(e, 0);
  if (last) x = channels_first(e, x);
  ir::Value* y = e.add_like("AveragePool", {x}, {"channels_last"});
  if (last) y = channels_last(e, y);
  set_quantized_result(e, y, 3, e.dtype(0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_average_pool_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_average_pool_op, "com.microsoft", "QLinearAveragePool",
                           expand, .f32_inputs = ~0u,
                           .trial = {"T[1,4,4,4]; f32[]; T[]; f32[]; T[]", "kernel_shape = [2, 2]"})
