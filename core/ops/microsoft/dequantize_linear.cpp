// Supports more types than ai.onnx did when the operator was added: u16, s16, u4, s4.
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_dequantize_linear_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.dequantize(e.in(0), e.in(1), e.in_or_null(2), e.node.int_attr("axis", 1)));
}

}  // namespace
}  // namespace poprt::ops::microsoft_dequantize_linear_op

POPRT_EXPANSION_WITH_FACTS(microsoft_dequantize_linear_op, "com.microsoft", "DequantizeLinear",
                           expand, .trial = {"T[4,4]; f32[]; T[]"})
