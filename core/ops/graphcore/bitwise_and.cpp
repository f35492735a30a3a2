// The same as the operator of ai.onnx from opset 18 on.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_bitwise_and_op {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("BitwiseAnd", {e.in(0), e.in(1)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_bitwise_and_op

POPRT_EXPANSION(graphcore_bitwise_and_op, "ai.graphcore", "BitwiseAnd", expand)
