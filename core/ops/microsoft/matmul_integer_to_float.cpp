// Inputs: A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_matmul_integer_to_float_op {
namespace {

void expand(Expansion& e) {
  ir::Value* sums = e.add("MatMulInteger", {e.in(0), e.in(1), e.in_or_null(4), e.in_or_null(5)});
  ir::Value* y = e.add("Mul", {e.cast(sums, e.dtype(2)), e.add("Mul", {e.in(2), e.in(3)})});
  if (e.has(6)) y = e.add("Add", {y, e.in(6)});
  e.out(0, y);
}

}  // namespace
}  // namespace poprt::ops::microsoft_matmul_integer_to_float_op

POPRT_EXPANSION_WITH_FACTS(microsoft_matmul_integer_to_float_op, "com.microsoft",
                           "MatMulIntegerToFloat", expand,
                           .trial = {"T[4,4]; T[4,4]; f32[]; f32[]"})
