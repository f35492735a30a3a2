// Inputs: input, weight, bias, input_scale, weight_scale, mask_index?, input_zero_point?,
// weight_zero_point?, past?
#include "ops/common/contrib_attention.h"

namespace poprt::ops::microsoft_qattention_op {
namespace {

void expand(Expansion& e) {
  const Shape x = e.shape(0), w = e.shape(1);
  e.check(x.size() == 3 && w.size() == 2 && w[0] == x[2] && w[1] % 3 == 0,
          "input or weight do not fit");
  ir::Value* sums = e.add("MatMulInteger", {e.in(0), e.in(1), e.in_or_null(6), e.in_or_null(7)});
  ir::Value* qkv = e.add("Mul", {e.cast(sums, e.dtype(2)), e.add("Mul", {e.in(3), e.in(4)})});
  qkv = e.add("Add", {qkv, e.in(2)});
  const int64_t hidden = w[1] / 3;
  attend_projected(e, qkv, {hidden, hidden, hidden}, e.in_or_null(5), e.in_or_null(8), nullptr);
}

}  // namespace
}  // namespace poprt::ops::microsoft_qattention_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qattention_op, "com.microsoft", "QAttention", expand,
                           .trial = {"T[1,2,4]; T[4,12]; f32[12]; f32[]; f32[]", "num_heads = 2"})
