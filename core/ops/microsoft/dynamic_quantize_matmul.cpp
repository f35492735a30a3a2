// Inputs: A, B, b_scale, b_zero_point?, bias?
#include "ir/newest.h"
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_dynamic_quantize_matmul_op {
namespace {

void expand(Expansion& e) {
  const ir::Node* q = e.add_node("DynamicQuantizeLinear", ir::kNewestDomain, {e.in(0)}, {}, 3);
  ir::Value* sums = e.add("MatMulInteger", {q->output(0), e.in(1), q->output(2), e.in_or_null(3)});
  ir::Value* y = e.add("Mul", {e.cast(sums, DType::f32), e.add("Mul", {q->output(1), e.in(2)})});
  if (e.has(4)) y = e.add("Add", {y, e.in(4)});
  e.out(0, y);
}

}  // namespace
}  // namespace poprt::ops::microsoft_dynamic_quantize_matmul_op

POPRT_EXPANSION_WITH_FACTS(microsoft_dynamic_quantize_matmul_op, "com.microsoft",
                           "DynamicQuantizeMatMul", expand, .trial = {"T[4,4]; u8[4,4]; f32[]"})
