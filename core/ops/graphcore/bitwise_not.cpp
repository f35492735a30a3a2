// As ai.onnx has it from opset 18.
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("BitwiseNot", {e.in(0)})); }

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(graphcore_bitwise_not_op, "ai.graphcore", "BitwiseNot", expand)
