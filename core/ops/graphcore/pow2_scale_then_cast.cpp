// Inputs: x, log2Scale. The output is x * 2^log2Scale as 8-bit floats of type `to`, in bytes.
#include "ops/common/quarter_bytes.h"

namespace poprt::ops::graphcore_pow2_scale_then_cast_op {
namespace {

void expand(Expansion& e) {
  ir::Value* x = e.add("Mul", {e.cast(e.in(0), DType::f32), power_of_two(e, e.in(1), 1)});
  e.out(0, e.newest("BitCast", {e.cast(x, quarter_named(e, "to"))}, {{"to", int64_t{2}}}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_pow2_scale_then_cast_op

POPRT_EXPANSION(graphcore_pow2_scale_then_cast_op, "ai.graphcore", "Pow2ScaleThenCast", expand)
