#include "ops/common/normalization.h"

#include "ops/common/as_f32.h"

namespace poprt::ops {
namespace {

using BufferId = LowerContext::BufferId;

// Scale or bias with exactly `count` elements: a single one is repeated.
BufferId affine(LowerContext& ctx, size_t i, int64_t count) {
  const BufferId b = in_as_f32(ctx, i);
  if (b == LowerContext::kNone) return b;
  const int64_t found = element_count(ctx.in_shape(i));
  if (found == count) return b;
  if (found != 1)
    ctx.fail_unsupported("input {} has {} elements, expected {} or 1", i, found, count);
  const BufferId wide = ctx.temporary(DType::f32, {count});
  ctx.emit("elementwise", {ctx.view(b, 0, DType::f32, {1}), wide}, {1, 1, 1, 0, 0, 0, 0, 16});
  return wide;
}

}  // namespace

void infer_layer_norm(InferContext& ctx) {
  const ir::ValueType& t = ctx.in(0);
  if (t.dtype != DType::undefined && !is_float(t.dtype))
    ctx.fail_input("input 0 is {}, expected a float type", dtype_name(t.dtype));
  ctx.out(0, t);
  if (ctx.node.outputs().size() < 2) return;
  for (size_t o = 1; o < ctx.node.outputs().size(); o++) {
    if (!t.has_shape) {
      ctx.out_dtype(o, DType::f32);
      continue;
    }
    Shape shape = t.shape;
    const auto rank = static_cast<int64_t>(shape.size());
    const auto axis = static_cast<size_t>(normalize_axis(ctx.node.int_attr("axis", -1), rank));
    for (size_t d = axis; d < shape.size(); d++) shape[d] = 1;
    ctx.out(o, DType::f32, shape);
  }
}

void lower_layer_norm(LowerContext& ctx, bool rms) {
  const Shape& shape = ctx.in_shape(0);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -1), static_cast<int64_t>(shape.size())));
  int64_t rows = 1, n = 1;
  for (size_t d = 0; d < shape.size(); d++) (d < axis ? rows : n) *= shape[d];
  const BufferId x = in_as_f32(ctx, 0), scale = affine(ctx, 1, n), bias = affine(ctx, 2, n);
  const BufferId y = out_as_f32(ctx, 0);
  const BufferId place = y != LowerContext::kNone ? y : ctx.temporary(DType::f32, shape);
  const BufferId first = out_as_f32(ctx, 1), second = out_as_f32(ctx, 2);
  ctx.emit("layer_norm",
           {x, scale, bias, place, rms ? LowerContext::kNone : first, rms ? first : second},
           {rows, n, 1, 1, rms}, {ctx.node.float_attr("epsilon", 1e-5f)});
  finish_f32(ctx, 0, y);
}

void lower_channel_norm(LowerContext& ctx, int64_t groups, bool per_channel) {
  const Shape& shape = ctx.in_shape(0);
  int64_t spatial = 1;
  for (size_t d = 2; d < shape.size(); d++) spatial *= shape[d];
  const int64_t channels = shape.at(1);
  if (groups < 1 || channels % groups != 0)
    ctx.fail_unsupported("{} channels do not divide into {} groups", channels, groups);
  const int64_t n = channels / groups * spatial;
  const int64_t entries = per_channel ? channels : groups;
  const BufferId y = out_as_f32(ctx, 0);
  const BufferId x = in_as_f32(ctx, 0), scale = affine(ctx, 1, entries),
                 bias = affine(ctx, 2, entries);
  const int64_t run = n == 0 ? 1 : per_channel ? spatial : n;
  ctx.emit("layer_norm", {x, scale, bias, y, LowerContext::kNone, LowerContext::kNone},
           {shape[0] * groups, n, groups, run, 0}, {ctx.node.float_attr("epsilon", 1e-5f)});
  finish_f32(ctx, 0, y);
}

}  // namespace poprt::ops
