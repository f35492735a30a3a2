// The indices address elements of the result shape that the attributes determine. A constant
// output_shape may be larger.
#include "kernels/calls/max_unpool.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/value_range.h"
#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops::max_unpool_op {
namespace {

// The shape that the attributes determine, without output_shape.
Shape plain(const ir::Node& node, const Shape& x) {
  const size_t rank = x.size() - 2;
  const Window w = window_of(node, {x.begin() + 2, x.end()});
  Shape y = {x[0], x[1]};
  for (size_t d = 0; d < rank; d++) {
    const int64_t in = x[d + 2];
    const int64_t size =
        in < 0 ? in : (in - 1) * w.strides[d] - w.pads_begin[d] - w.pads_end[d] + w.kernel[d];
    if (in > 0 && size <= 0)
      fail(ErrorCode::invalid_argument,
           "{}: no output is left on spatial axis {}: pads {} and {} remove more than {} with "
           "stride "
           "{} and kernel {}",
           node.describe(), d, w.pads_begin[d], w.pads_end[d], in, w.strides[d], w.kernel[d]);
    y.push_back(in == 0 ? 0 : size);
  }
  return y;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() < 3)
    ctx.fail_input("input {} has no spatial dimension", shape_string(x.shape));
  const Shape small = plain(ctx.node, x.shape);
  if (is_static(small)) check_places(ctx.node, 1, element_count(small), "index");
  if (!ctx.has(2)) return ctx.out(0, x.dtype, small);
  const auto given = ctx.ints(2);
  if (!given) return ctx.out(0, x.dtype, Shape(x.shape.size(), kUnknownDim));
  if (given->size() != x.shape.size() || !is_static(*given))
    ctx.fail_input("output_shape {} does not fit {}", shape_string(*given), shape_string(x.shape));
  ctx.out(0, x.dtype, Shape(given->begin(), given->end()));
}

void lower(LowerContext& ctx) {
  const Shape small = plain(ctx.node, ctx.in_shape(0)), &y = ctx.out_shape();
  if (ctx.in_dtype(1) != DType::s64 || ctx.in_shape(1) != ctx.in_shape(0))
    ctx.fail_unsupported("indices must be s64 in the shape of the input");
  for (size_t d = 0; d < y.size(); d++)
    if (small[d] > y[d])
      ctx.fail_unsupported("output_shape {} is smaller than {}", shape_string(y),
                           shape_string(small));
  ctx.emit(calls::MaxUnpool{.count = element_count(ctx.in_shape(0)),
                            .dims = {small.begin(), small.end()},
                            .large = {y.begin(), y.end()},
                            .checked = ctx.checks(1)},
           {ctx.in(0), ctx.in(1), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "MaxUnpool",
    .since = 9,
    .infer = infer,
    .lower = lower,
    .axes = axes::none,
    .cost = cost::max_unpool,
    .facts = {.constant_inputs = 0b100,
              .trial = {"T[1,4,2,2]; s64[1,4,2,2]", "kernel_shape = [2, 2], strides = [2, 2]"}}};

}  // namespace poprt::ops::max_unpool_op
