// Inputs: condition, X, x_scale, x_zero_point, Y, y_scale, y_zero_point, z_scale, z_zero_point.
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_where_op {
namespace {

void expand(Expansion& e) {
  check_one_type(e, 1, 4);
  const auto part = [&](size_t at) { return requantized(e, at, 7, e.dtype(1)); };
  e.out(0, e.add("Where", {e.in(0), part(1), part(4)}));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_where_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_where_op, "com.microsoft", "QLinearWhere", expand,
                           .f32_inputs = ~0u,
                           .trial = {
                               "bool[4,4]; T[4,4]; f32[]; T[]; T[4,4]; f32[]; T[]; f32[]; T[]"})
