// Inputs: data, 8-bit floats of type `from` in bytes; log2Scale. The output is their values times
// 2^log2Scale, of type `to` (FLOAT or FLOAT16).
#include "ops/common/quarter_bytes.h"

namespace poprt::ops::graphcore_cast_then_pow2_scale_op {
namespace {

void expand(Expansion& e) {
  e.check(e.dtype(0) == DType::u8, "the data must be bytes");
  const std::string to = e.node.string_attr("to", "FLOAT16");
  if (to != "FLOAT" && to != "FLOAT16") e.fail_input("to is '{}', expected FLOAT or FLOAT16", to);
  ir::Value* x = from_quarter(e, e.in(0), quarter_named(e, "from"), e.in(1));
  e.out(0, e.cast(x, to == "FLOAT" ? DType::f32 : DType::f16));
}

}  // namespace
}  // namespace poprt::ops::graphcore_cast_then_pow2_scale_op

POPRT_EXPANSION(graphcore_cast_then_pow2_scale_op, "ai.graphcore", "CastThenPow2Scale", expand)
