// Inputs: Y_scale, Y_zero_point, followed by x, scale and zero_point of each part.
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_concat_op {
namespace {

void expand(Expansion& e) {
  e.check(e.node.inputs().size() >= 5 && e.node.inputs().size() % 3 == 2,
          "the inputs must be the scale and zero point of Y, followed by three for each part");
  std::vector<ir::Value*> parts;
  for (size_t i = 2; i < e.node.inputs().size(); i += 3)
    parts.push_back(requantized(e, i, 0, e.dtype(2)));
  e.out(0, e.concat(parts, e.node.int_attr("axis", 0)));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_concat_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_concat_op, "com.microsoft", "QLinearConcat", expand,
                           .f32_inputs = ~0u,
                           .trial = {"f32[]; T[]; T[4,4]; f32[]; T[]; T[4,4]; f32[]; T[]",
                                     "axis = 0"})
