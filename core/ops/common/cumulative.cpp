#include "ops/common/cumulative.h"

#include "kernels/calls/cumsum.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/reduce.h"
#include "ops/common/scalar.h"

namespace poprt::ops {

void lower_cumulative(LowerContext& ctx, bool product) {
  const auto axis = ctx.ints(1);
  if (!axis || axis->size() != 1)
    ctx.fail_unsupported("the axis must be a constant of one element");
  const Shape& shape = ctx.in_shape(0);
  const AxisSplit s =
      split_at(shape, normalize_axis(axis->at(0), static_cast<int64_t>(shape.size())));
  const DType t = ctx.in_dtype(0);
  const bool narrow = is_float(t) && t != DType::f32 && t != DType::f64;
  const auto y = narrow ? out_as_f32(ctx, 0) : ctx.out(0);
  ctx.emit(calls::Cumsum{.outer = s.outer,
                         .n = s.n,
                         .inner = s.inner,
                         .exclusive = ctx.node.int_attr("exclusive", 0) != 0,
                         .reverse = ctx.node.int_attr("reverse", 0) != 0,
                         .product = product},
           {narrow ? in_as_f32(ctx, 0) : ctx.in(0), y});
  if (narrow) finish_f32(ctx, 0, y);
}

BoundResult bound_cumulative(BoundContext& ctx, bool product) {
  ctx.refuse_sizes(1);
  const Item x = ctx.in[0];
  if (ctx.node.int_attr("reverse", 0) != 0)
    ctx.in[0].value = ctx.filled(x, scalar_tensor(x.value->dtype(), product ? 1 : 0));
  return {x.size, x.axis};
}

void axes_of_cumulative(AxesContext& ctx) {
  const auto axis = ctx.ints(1);
  if (!axis || axis->size() != 1) return;
  const size_t along[] = {
      static_cast<size_t>(normalize_axis(axis->at(0), static_cast<int64_t>(ctx.in(0).size())))};
  axes::same(ctx, 0, 0, along);
}

}  // namespace poprt::ops
