// Inputs: A, A_scale, A_zero_point?, B, B_scale, B_zero_point?, C_scale, C_zero_point?
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_add_op {
namespace {

void expand(Expansion& e) {
  check_one_type(e, 0, 3);
  set_quantized_result(e, e.add("Add", {dequantized(e, 0), dequantized(e, 3)}), 6, e.dtype(0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_add_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_add_op, "com.microsoft", "QLinearAdd", expand,
                           .f32_inputs = ~0u,
                           .trial = {"T[4,4]; f32[]; T[]; T[4,4]; f32[]; T[]; f32[]; T[]"})
