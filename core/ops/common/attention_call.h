// Parts of the calls of attention_generic that its operators have in common.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/calls/attention_generic.h"
#include "ops/common/as_real.h"
#include "ops/common/movement.h"
#include "ops/op.h"

namespace poprt::ops {

// Strides of batch, head and row of [B, heads, rows, width], or of [B, rows, heads * width] if
// `packed`.
inline std::array<int64_t, 3> head_strides(bool packed, int64_t heads, int64_t rows,
                                           int64_t width) {
  if (packed) return {rows * heads * width, width, heads * width};
  return {heads * rows * width, rows * width, width};
}

// Reads input `input`, a mask of numbers or of bool that broadcasts to [batch, q_heads, queries,
// keys]. Sets the fields of the mask in `call`, whose sizes are set. Returns kNone without a mask.
inline LowerContext::BufferId attention_mask(LowerContext& ctx, size_t input, DType type,
                                             calls::AttentionGeneric& call) {
  if (!ctx.has(input)) return LowerContext::kNone;
  const auto mask = ctx.in_dtype(input) == DType::boolean ? ctx.in(input) : in_as(ctx, input, type);
  Shape shape = ctx.in_shape(input);
  if (shape.size() > 4 || shape.empty())
    ctx.fail_unsupported("mask {} must have one to four dimensions", shape_string(shape));
  shape.insert(shape.begin(), 4 - shape.size(), 1);
  const auto strides = contiguous_strides(shape);
  const int64_t full[] = {call.batch, call.q_heads, call.queries};
  for (size_t d = 0; d < 4; d++) {
    if (d < 3 && shape[d] != 1 && shape[d] != full[d])
      ctx.fail_unsupported("mask {} does not fit the scores", shape_string(shape));
    call.mask[d] = shape[d] == 1 && (d < 3 || call.keys == 1 || shape[3] == 1) ? 0 : strides[d];
  }
  call.mask_keys = shape[3];
  if (shape[3] > call.keys) ctx.fail_unsupported("mask {} is too long", shape_string(shape));
  return mask;
}

}  // namespace poprt::ops
