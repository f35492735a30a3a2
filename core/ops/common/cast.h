// Selects the kernel that converts. Kernel `cast` converts between all types, but its vectorised
// conversions of 16-bit floats are those to and from f32. Other pairs with 16-bit floats therefore
// use kernel `elementwise`, which computes in f32, if it supports both types.
#pragma once

#include <string>

#include "base/quarter.h"
#include "kernels/calls/cast.h"
#include "ops/common/elementwise.h"

namespace poprt::ops {

// Throws invalid_argument if attribute round_mode of a Cast or CastLike is unknown.
inline void check_round_mode(InferContext& ctx) {
  const std::string mode = ctx.node.string_attr("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest")
    ctx.fail_input("attribute round_mode is '{}', expected up, down or nearest", mode);
}

inline void lower_cast(LowerContext& ctx) {
  const auto half = [](DType t) { return t == DType::f16 || t == DType::bf16; };
  const DType from = ctx.in_dtype(0), to = ctx.out_dtype(0);
  if (((half(from) && to != DType::f32) || (half(to) && from != DType::f32)) &&
      is_fusable_elementwise(ctx.node))
    return lower_elementwise(ctx);
  const std::string mode = ctx.node.string_attr("round_mode", "up");
  const auto rounding = mode == "up"     ? PowerRounding::up
                        : mode == "down" ? PowerRounding::down
                                         : PowerRounding::nearest;
  ctx.emit(calls::Cast{.saturate = ctx.node.int_attr("saturate", 1) != 0, .rounding = rounding},
           {ctx.in(0), ctx.out(0)});
}

}  // namespace poprt::ops
