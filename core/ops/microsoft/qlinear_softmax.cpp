// Inputs: X, X_scale, x_zero_point?, y_scale, y_zero_point. Attribute opset is that of the original
// Softmax. If it is below 13, all dimensions from axis on form one vector.
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_softmax_op {
namespace {

void expand(Expansion& e) {
  const Shape shape = e.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = normalize_axis(e.node.int_attr("axis", -1), rank);
  ir::Value* x = dequantized(e, 0);
  ir::Value* y;
  if (e.node.int_attr("opset", 13) < 13) {
    int64_t rows = 1, columns = 1;
    for (int64_t d = 0; d < rank; d++) (d < axis ? rows : columns) *= shape[static_cast<size_t>(d)];
    y = e.reshape(e.newest("Softmax", {e.reshape(x, {rows, columns})}, {{"axis", int64_t{1}}}),
                  shape);
  } else {
    y = e.newest("Softmax", {x}, {{"axis", axis}});
  }
  set_quantized_result(e, y, 3, e.dtype(0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_softmax_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_softmax_op, "com.microsoft", "QLinearSoftmax", expand,
                           .f32_inputs = ~0u, .trial = {"T[1,4,4,4]; f32[]; T[]; f32[]; T[]"})
