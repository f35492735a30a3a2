#include "kernels/calls/max_roi_pool.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/check_numbers.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::max_roi_pool_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &rois = ctx.in(1);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  const auto pooled = ctx.node.ints_attr("pooled_shape");
  if (x.shape.size() != 4 || pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
    ctx.fail_input("input {} or pooled_shape {} does not fit", shape_string(x.shape),
                   shape_string(pooled));
  if (const Tensor* t = ctx.constant(1); t && t->shape().size() == 2 && t->shape()[1] == 5) {
    const std::vector<double> values = t->to_doubles();
    for (size_t i = 0; i < values.size(); i += 5)
      if (!(values[i] >= 0 && (x.shape[0] < 0 || values[i] < static_cast<double>(x.shape[0]))))
        ctx.fail_input("batch index {} is outside [0, {})", values[i], x.shape[0]);
  }
  ctx.out(0, x.dtype,
          {rois.has_shape && !rois.shape.empty() ? rois.shape[0] : kUnknownDim, x.shape[1],
           pooled[0], pooled[1]});
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const DType t = real_type(ctx);
  const auto place = out_as(ctx, 0, t);
  const auto rois = in_as(ctx, 1, t);
  if (ctx.checks(1))
    ctx.emit(
        calls::CheckNumbers{
            .count = y[0], .step = 5, .end = x[0], .what = calls::Number::batch_index},
        {rois});
  ctx.emit(calls::MaxRoiPool{.n = x[0],
                             .c = x[1],
                             .h = x[2],
                             .w = x[3],
                             .rois = y[0],
                             .oh = y[2],
                             .ow = y[3],
                             .scale = ctx.node.float_attr("spatial_scale", 1.0f)},
           {in_as(ctx, 0, t), rois, place});
  finish_as(ctx, 0, place, t);
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 1, 0, 1);
  ctx.carry(1, 0, 0, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "MaxRoiPool",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::max_roi_pool,
                   .facts = {.trial = {"T[2,4,4,4]; T[1,5]", "pooled_shape = [2, 2]"}}};

}  // namespace poprt::ops::max_roi_pool_op
