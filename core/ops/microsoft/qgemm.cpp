// Inputs: A, a_scale, a_zero_point, B, b_scale, b_zero_point, C? (s32), y_scale?, y_zero_point?
#include "ops/common/contrib_quantized.h"

namespace poprt::ops::microsoft_qgemm_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  ir::Value* a = n.int_attr("transA", 0) ? e.swap_last_two(e.in(0)) : e.in(0);
  ir::Value* b = n.int_attr("transB", 0) ? e.swap_last_two(e.in(3)) : e.in(3);
  ir::Value* sums = e.add("MatMulInteger", {a, b, e.in_or_null(2), e.in_or_null(5)});
  if (e.has(6)) sums = e.add("Add", {sums, e.in(6)});
  ir::Value* scale =
      e.scaled(e.add("Mul", {e.in(1), e.in(4)}), static_cast<double>(n.float_attr("alpha", 1)));
  ir::Value* y = e.add("Mul", {e.cast(sums, DType::f32), scale});
  if (!e.has(7)) return e.out(0, y);
  set_quantized_result(e, y, 7, e.has(8) ? e.dtype(8) : DType::u8);
}

}  // namespace
}  // namespace poprt::ops::microsoft_qgemm_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qgemm_op, "com.microsoft", "QGemm", expand,
                           .trial = {"T[4,4]; f32[]; T[]; T[4,4]; f32[]; T[]"})
