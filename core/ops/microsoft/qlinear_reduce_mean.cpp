// Inputs: data, data_scale, data_zero_point?, reduced_scale, reduced_zero_point?
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qlinear_reduce_mean_op {
namespace {

void expand(Expansion& e) {
  ir::Value* y = e.newest("ReduceMean", {dequantized(e, 0), e.ints(e.node.ints_attr("axes"))},
                          {{"keepdims", e.node.int_attr("keepdims", 1)}});
  set_quantized_result(e, y, 3, e.dtype(0));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qlinear_reduce_mean_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qlinear_reduce_mean_op, "com.microsoft", "QLinearReduceMean",
                           expand, .f32_inputs = ~0u,
                           .trial = {"T[1,4,4,4]; f32[]; T[]; f32[]; T[]", "axes = [1]"})
