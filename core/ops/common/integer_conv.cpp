#include "ops/common/integer_conv.h"

#include "ops/common/window.h"

namespace poprt::ops {
namespace {

std::vector<int64_t> spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

}  // namespace

void infer_integer_conv(InferContext& ctx, size_t xi, size_t wi, DType result) {
  const ir::ValueType &x = ctx.in(xi), &w = ctx.in(wi);
  for (const ir::ValueType* t : {&x, &w})
    if (t->dtype != DType::undefined && t->dtype != DType::u8 && t->dtype != DType::s8)
      ctx.fail_unsupported("an operand is {}, supported are u8 and s8", dtype_name(t->dtype));
  if (!x.has_shape || !w.has_shape || !is_static(w.shape)) return ctx.out_dtype(0, result);
  const int64_t group = ctx.node.int_attr("group", 1);
  if (x.shape.size() < 3 || w.shape.size() != x.shape.size() || group < 1 || w.shape[0] % group ||
      (x.shape[1] >= 0 && x.shape[1] != w.shape[1] * group))
    ctx.fail_input("input {} in {} groups does not fit weights {}", shape_string(x.shape), group,
                   shape_string(w.shape));
  const auto spatial = spatial_of(x.shape);
  const auto out = window_output(window_of(ctx.node, spatial, spatial_of(w.shape)), spatial);
  Shape y = {x.shape[0], w.shape[0]};
  y.insert(y.end(), out.begin(), out.end());
  ctx.out(0, result, std::move(y));
}

void lower_integer_conv(LowerContext& ctx, size_t xi, size_t wi, size_t x_zero, size_t w_zero,
                        size_t bias, program::BufferId sums) {
  const Shape &x = ctx.in_shape(xi), &w = ctx.in_shape(wi), &y = ctx.out_shape();
  const auto rank = x.size() - 2;
  if (rank > 3) ctx.fail_unsupported("more than three spatial dimensions");
  if (element_count(y) == 0) return;
  const int64_t group = ctx.node.int_attr("group", 1);
  const Window window = window_of(ctx.node, spatial_of(x), spatial_of(w));
  const int64_t zeros = ctx.has(w_zero) ? element_count(ctx.in_shape(w_zero)) : 1;
  if (zeros != 1 && zeros != w[0])
    ctx.fail_unsupported("zero point {} must have one element or {}",
                         shape_string(ctx.in_shape(w_zero)), w[0]);
  std::vector<int64_t> ints = {zeros != 1, x[0],         group,
                               w[1],       w[0] / group, static_cast<int64_t>(rank)};
  for (size_t d = 0; d < rank; d++)
    ints.insert(ints.end(), {x[d + 2], y[d + 2], window.kernel[d], window.strides[d],
                             window.pads_begin[d], window.dilations[d]});
  const auto optional = [&](size_t i) { return ctx.has(i) ? ctx.in(i) : LowerContext::kNone; };
  const program::BufferId operands[] = {ctx.in(xi),       ctx.in(wi),     optional(x_zero),
                                        optional(w_zero), optional(bias), sums};
  ctx.emit("conv_integer", operands, ints);
}

}  // namespace poprt::ops
