// Inputs: X, X_scale, X_zero_point?, Y_scale, Y_zero_point?
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_sigmoid_op {
namespace {

void expand(Expansion& e) {
  set_quantized_result(e, e.add("Sigmoid", {dequantized(e, 0)}), 3, e.dtype(0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_sigmoid_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_sigmoid_op, "com.microsoft", "QLinearSigmoid", expand,
                           .f32_inputs = ~0u, .trial = {"T[1,4,4,4]; f32[]; T[]; f32[]; T[]"})
