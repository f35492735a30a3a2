// The same as the operator of ai.onnx from opset 18 on.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_bitwise_or_op {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("BitwiseOr", {e.in(0), e.in(1)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_bitwise_or_op

POPRT_EXPANSION(graphcore_bitwise_or_op, "ai.graphcore", "BitwiseOr", expand)
