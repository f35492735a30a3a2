#include "ops/common/normalization.h"

#include <limits>

#include "kernels/calls/fill.h"
#include "kernels/calls/layer_norm.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/movement.h"
#include "ops/common/scalar.h"

namespace poprt::ops {
namespace {

using BufferId = LowerContext::BufferId;

// Whether the statistics are f64 (attribute stash_type). An f64 input is always computed in f64.
bool in_double(const ir::Node& node) { return node.int_attr("stash_type", 1) == 11; }

BufferId broadcast(LowerContext& ctx, BufferId from, DType type, const Shape& shape,
                   const Shape& to) {
  const BufferId wide = ctx.temporary(type, to);
  if (type == DType::f32) {
    ElementwiseProgram copy;
    copy.add_output(copy.add_input(), type);
    ctx.emit(copy.call(), {ctx.view(from, 0, type, shape), wide});
    return wide;
  }
  StridedCopy copy{to, std::vector<int64_t>(to.size()), contiguous_strides(to), 0, 0};
  const auto strides = contiguous_strides(shape);
  for (size_t d = 0; d < shape.size(); d++)
    if (shape[d] != 1) copy.from_strides[to.size() - shape.size() + d] = strides[d];
  emit_strided_copy(ctx, from, wide, type, copy);
  return wide;
}

// Scale or bias with exactly `count` elements; a single element is repeated.
BufferId affine(LowerContext& ctx, size_t i, DType type, int64_t count) {
  const BufferId b = in_as(ctx, i, type);
  if (b == LowerContext::kNone) return b;
  const int64_t found = element_count(ctx.in_shape(i));
  if (found == count) return b;
  if (found != 1)
    ctx.fail_unsupported("input {} has {} elements, expected {} or 1", i, found, count);
  return broadcast(ctx, b, type, {1}, {count});
}

// Scale or bias of LayerNormalization, as it broadcasts to x.
struct Affine {
  Shape shape;        // without leading ones
  bool rows = false;  // differs between rows
};
Affine affine_of(const LowerContext& ctx, size_t i, size_t axis) {
  Affine a;
  if (!ctx.has(i)) return a;
  const Shape& x = ctx.in_shape(0);
  a.shape = ctx.in_shape(i);
  while (!a.shape.empty() && a.shape.front() == 1) a.shape.erase(a.shape.begin());
  const size_t lead = a.shape.size() > x.size() ? 0 : x.size() - a.shape.size();
  bool fits = a.shape.size() <= x.size();
  for (size_t d = 0; fits && d < a.shape.size(); d++)
    fits = a.shape[d] == 1 || a.shape[d] == x[lead + d];
  // Some exporters write the normalised elements in another shape.
  if (!fits) {
    int64_t n = 1;
    for (size_t d = axis; d < x.size(); d++) n *= x[d];
    if (element_count(a.shape) != n)
      ctx.fail_unsupported("input {} is {}, which does not broadcast to {}", i,
                           shape_string(ctx.in_shape(i)), shape_string(x));
    a.shape.assign(x.begin() + static_cast<std::ptrdiff_t>(axis), x.end());
  }
  a.rows = a.shape.size() > x.size() - axis;
  return a;
}

}  // namespace

void infer_layer_norm(InferContext& ctx) {
  const ir::ValueType& t = ctx.in(0);
  if (t.dtype != DType::undefined && !is_float(t.dtype))
    ctx.fail_input("input 0 is {}, expected a float type", dtype_name(t.dtype));
  ctx.out(0, t);
  if (ctx.node.outputs().size() < 2) return;
  const DType statistics = in_double(ctx.node) ? DType::f64 : DType::f32;
  for (size_t o = 1; o < ctx.node.outputs().size(); o++) {
    if (!t.has_shape) {
      ctx.out_dtype(o, statistics);
      continue;
    }
    Shape shape = t.shape;
    const auto rank = static_cast<int64_t>(shape.size());
    const auto axis = static_cast<size_t>(normalize_axis(ctx.node.int_attr("axis", -1), rank));
    for (size_t d = axis; d < shape.size(); d++) shape[d] = 1;
    ctx.out(o, statistics, shape);
  }
}

void lower_layer_norm(LowerContext& ctx, bool rms) {
  const Shape& shape = ctx.in_shape(0);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -1), static_cast<int64_t>(shape.size())));
  int64_t rows = 1, n = 1;
  for (size_t d = 0; d < shape.size(); d++) (d < axis ? rows : n) *= shape[d];
  const DType t = in_double(ctx.node) ? DType::f64 : real_type(ctx);
  const Affine affines[] = {affine_of(ctx, 1, axis), affine_of(ctx, 2, axis)};
  // If one of them differs between rows, the kernel reads both for every row.
  const bool by_row = rows > 0 && (affines[0].rows || affines[1].rows);
  const Shape wanted(shape.begin() + static_cast<std::ptrdiff_t>(by_row ? 0 : axis), shape.end());
  const auto entries = [&](size_t i) {
    const BufferId b = in_as(ctx, i, t);
    if (b == LowerContext::kNone || affines[i - 1].shape == wanted || element_count(shape) == 0)
      return b;
    return broadcast(ctx, b, t, affines[i - 1].shape, wanted);
  };
  const BufferId x = in_as(ctx, 0, t), scale = entries(1), bias = entries(2);
  const BufferId y = out_as(ctx, 0, t);
  const BufferId place = y != LowerContext::kNone ? y : ctx.temporary(t, shape);
  const BufferId first = out_as(ctx, 1, t), second = out_as(ctx, 2, t);
  if (n == 0) {
    // The mean of no elements is 0 / 0, as in numpy. ONNX Runtime refuses such inputs.
    for (const BufferId statistic : {first, second})
      if (statistic != LowerContext::kNone && rows > 0)
        ctx.emit(calls::Fill{},
                 {ctx.pack(scalar_tensor(t, std::numeric_limits<double>::quiet_NaN())), statistic});
  } else if (rows > 0) {
    ctx.emit(calls::LayerNorm{.rows = rows,
                              .n = n,
                              .period = by_row ? rows : 1,
                              .run = 1,
                              .rms = rms,
                              .epsilon = ctx.node.float_attr("epsilon", 1e-5f)},
             {x, scale, bias, place, rms ? LowerContext::kNone : first, rms ? first : second});
  }
  finish_as(ctx, 0, y, t);
  finish_as(ctx, 1, first, t);
  finish_as(ctx, 2, second, t);
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
  const DType t = in_double(ctx.node) ? DType::f64 : real_type(ctx);
  const BufferId y = out_as(ctx, 0, t);
  const BufferId x = in_as(ctx, 0, t), scale = affine(ctx, 1, t, entries),
                 bias = affine(ctx, 2, t, entries);
  const int64_t run = n == 0 ? 1 : per_channel ? spatial : n;
  ctx.emit(calls::LayerNorm{.rows = shape[0] * groups,
                            .n = n,
                            .period = groups,
                            .run = run,
                            .rms = false,
                            .epsilon = ctx.node.float_attr("epsilon", 1e-5f)},
           {x, scale, bias, y, LowerContext::kNone, LowerContext::kNone});
  finish_as(ctx, 0, y, t);
}

BoundResult bound_layer_norm(BoundContext& ctx) {
  ctx.refuse_sizes(1);
  const Item& x = ctx.in[0];
  if (x.axis >= ctx.axis_attr(-1)) ctx.refuse_size(x);
  return {x.size, x.axis};
}

// Rows are carried, also to the statistics. Scale and bias broadcast. If they have the normalised
// elements in another shape, nothing is stated about them.
void axes_of_layer_norm(AxesContext& ctx) {
  const Shape& x = ctx.in(0);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -1), static_cast<int64_t>(x.size())));
  for (size_t o = 0; o < ctx.output_count(); o++) axes::range(ctx, 0, 0, axis, o, 0);
  // The place along a normalised axis determines which elements of scale and bias are used.
  for (size_t d = axis; d < x.size(); d++) ctx.number(0, d);
  for (size_t i = 1; i < std::min<size_t>(ctx.input_count(), 3); i++) {
    for (size_t o = 1; o < ctx.output_count(); o++) ctx.independent(i, o);
    if (!ctx.has(i) || ctx.in(i).size() > x.size()) continue;
    const Shape& shape = ctx.in(i);
    bool fits = true;
    for (size_t d = 0; d < shape.size(); d++)
      fits = fits && (shape[d] == 1 || shape[d] == x[x.size() - shape.size() + d]);
    if (fits) axes::aligned(ctx, i, 0);
  }
}

void axes_of_channel_norm(AxesContext& ctx, int64_t groups) {
  if (ctx.in(0).size() < 2 || groups < 1) return;
  const int64_t channels = ctx.in(0)[1];
  ctx.carry(0, 0, 0, 0);
  axes::grouped(ctx, {{0, 1}, channels / groups, 0, 1, channels / groups, groups});
  for (const size_t i : {1, 2}) {
    if (!ctx.has(i) || ctx.in(i).size() != 1) continue;
    if (ctx.in(i)[0] == groups)
      axes::grouped(ctx, {{i, 0}, 1, 0, 1, channels / groups, groups});
    else
      axes::per_channel(ctx, i);
  }
}

}  // namespace poprt::ops
