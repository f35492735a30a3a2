#include "ops/common/quantization.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/requantize.h"
#include "ops/common/axes.h"
#include "ops/common/reduce.h"

namespace poprt::ops {

kernels::calls::QuantizationGrid quantization_grid(const ir::Node& node, const Shape& x,
                                                   const Shape& scale, int64_t axis,
                                                   int64_t block_size) {
  const auto bad = [&] {
    fail(ErrorCode::invalid_argument, "{}: scale {} does not fit input {} on axis {}, block {}",
         node.describe(), shape_string(scale), shape_string(x), axis, block_size);
  };
  if (block_size < 0) bad();
  const bool blocked = scale.size() == x.size() && (block_size > 0 || scale.size() > 1);
  if (!blocked && element_count(scale) == 1) return {.inner = element_count(x)};
  const auto rank = static_cast<int64_t>(x.size());
  if (axis < -rank || axis >= rank) bad();
  const auto a = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const AxisSplit s = split_at(x, static_cast<int64_t>(a));
  if (!blocked) {
    if (scale.size() != 1 || scale[0] != s.n) bad();
    return {.outer = s.outer, .n = s.n, .inner = s.inner, .per_axis = true};
  }
  for (size_t d = 0; d < x.size(); d++)
    if (d != a && scale[d] != x[d]) bad();
  if (scale[a] == 0 && s.n == 0) return {.outer = s.outer, .n = s.n, .inner = s.inner, .block = 1};
  if (scale[a] < 1 || s.n == 0) bad();
  const int64_t block = block_size > 0 ? block_size : (s.n + scale[a] - 1) / scale[a];
  if (s.n / block + (s.n % block != 0) != scale[a]) bad();
  return {.outer = s.outer, .n = s.n, .inner = s.inner, .block = std::min(block, s.n)};
}

void check_quantization(const InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &scale = ctx.in(1);
  if (x.is_static() && scale.is_static())
    quantization_grid(ctx.node, x.shape, scale.shape, ctx.node.int_attr("axis", 1),
                      ctx.node.int_attr("block_size", 0));
  if (!scale.is_static() || !ctx.has(2) || !ctx.in(2).is_static()) return;
  // The zero point should have the shape of the scale. Only their numbers of elements are compared,
  // because exporters write a single number as a scalar, [1] or [1,1].
  const Shape& zero = ctx.in(2).shape;
  if (element_count(zero) != element_count(scale.shape))
    ctx.fail_input("zero point {} does not fit scale {}", shape_string(zero),
                   shape_string(scale.shape));
}

void axes_of_quantization(AxesContext& ctx) {
  axes::same(ctx, 0, 0);
  const Shape &x = ctx.in(0), &scale = ctx.in(1);
  const int64_t axis = ctx.node.int_attr("axis", 1);
  const auto grid = quantization_grid(ctx.node, x, scale, axis, ctx.node.int_attr("block_size", 0));
  if (!grid.per_axis && grid.block == 0) return;  // one number for all elements
  const auto a = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(x.size())));
  for (const size_t i : {1, 2}) {
    if (!ctx.has(i) || ctx.in(i) != scale) continue;
    if (grid.per_axis) {
      ctx.carry(i, 0, 0, a);
      continue;
    }
    axes::same(ctx, i, 0, std::span(&a, 1));
    if (scale[a] > 0) ctx.link({i, a, 0, a, kNoRepeat, 1, grid.block});
  }
}

void check_zero_point(const InferContext& ctx, size_t zero, size_t data) {
  if (!ctx.has(zero) || !ctx.has(data)) return;
  const DType found = ctx.in(zero).dtype, wanted = ctx.in(data).dtype;
  if (found != DType::undefined && wanted != DType::undefined && found != wanted)
    ctx.fail_input("zero point '{}' is {}, its data '{}' is {}", ctx.node.input(zero)->name(),
                   dtype_name(found), ctx.node.input(data)->name(), dtype_name(wanted));
}

void emit_requantize(LowerContext& ctx, const Requantize& r) {
  ctx.emit(calls::Requantize{.outer = r.outer,
                             .rows = r.rows,
                             .columns = r.columns,
                             .a_row = r.a_by_row,
                             .b_row = r.b_by_row,
                             .b_column = r.b_by_column},
           {r.sums, r.a_scale, r.b_scale, r.y_scale, r.y_zero, r.y});
}

}  // namespace poprt::ops
