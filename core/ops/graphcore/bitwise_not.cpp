// The same as the operator of ai.onnx from opset 18 on.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_bitwise_not_op {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("BitwiseNot", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops::graphcore_bitwise_not_op

POPRT_EXPANSION(graphcore_bitwise_not_op, "ai.graphcore", "BitwiseNot", expand)
