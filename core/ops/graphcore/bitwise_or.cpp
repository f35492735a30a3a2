// As ai.onnx has it from opset 18.
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("BitwiseOr", {e.in(0), e.in(1)})); }

}  // namespace
}  // namespace poprt::ops

POPRT_EXPANSION(graphcore_bitwise_or_op, "ai.graphcore", "BitwiseOr", expand)
