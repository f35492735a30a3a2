// Parts of the calls of attention_generic that its operators have in common.
#pragma once

#include <array>
#include <cstdint>

#include "base/error.h"
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

// Returns the call of a node with these sizes, and with its attributes for the keys that a query
// may see. The strides of the operands are not set.
template <class Sizes>
calls::AttentionGeneric attention_call(const ir::Node& node, const Sizes& s) {
  calls::AttentionGeneric call;
  call.batch = s.batch;
  call.q_heads = s.q_heads;
  call.kv_heads = s.kv_heads;
  call.queries = s.queries;
  call.keys = s.keys;
  call.head = s.head;
  call.v_size = s.v_size;
  call.causal = node.int_attr("is_causal", 0) != 0;
  call.left = node.int_attr("left_window_size", calls::kNoWindow);
  call.right = node.int_attr("right_window_size", calls::kNoWindow);
  return call;
}

// Returns the shape of input `input`, a mask, with four dimensions. Each of the first three is 1,
// which broadcasts, or that of the scores [batch, q_heads, queries, keys]. The last one may be
// smaller than that of the scores. It does not broadcast even if it is 1, because the reference
// implementation of ONNX hides the keys that the mask lacks. Throws invalid_argument if the mask
// does not fit.
inline Shape mask_shape(const ir::Node& node, size_t input, const Shape& scores) {
  const Shape given = node.input(input)->shape();
  bool fits = !given.empty() && given.size() <= 4;
  Shape shape = given;
  if (fits) shape.insert(shape.begin(), 4 - shape.size(), 1);
  for (size_t d = 0; d < 3 && fits; d++) fits = shape[d] == 1 || shape[d] == scores[d];
  if (!fits || shape[3] > scores[3])
    fail(ErrorCode::invalid_argument,
         "{}: mask {} must broadcast to the scores {}; its last dimension may be shorter",
         node.describe(), shape_string(given), shape_string(scores));
  return shape;
}

// Reads input `input`, a mask of numbers or of bool (mask_shape()). Sets the fields of the mask in
// `call`, whose sizes are set. Returns kNone without a mask.
inline LowerContext::BufferId attention_mask(LowerContext& ctx, size_t input, DType type,
                                             calls::AttentionGeneric& call) {
  if (!ctx.has(input)) return LowerContext::kNone;
  const auto mask = ctx.in_dtype(input) == DType::boolean ? ctx.in(input) : in_as(ctx, input, type);
  const Shape shape =
      mask_shape(ctx.node, input, {call.batch, call.q_heads, call.queries, call.keys});
  const auto strides = contiguous_strides(shape);
  for (size_t d = 0; d < 4; d++)
    call.mask[d] = shape[d] == 1 && (d < 3 || call.keys == 1 || shape[3] == 1) ? 0 : strides[d];
  call.mask_keys = shape[3];
  return mask;
}

}  // namespace poprt::ops
