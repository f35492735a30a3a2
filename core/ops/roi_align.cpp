// Opset 16 added coordinate_transformation_mode with the default half_pixel. Earlier versions
// behave like output_half_pixel.
#include "kernels/calls/roi_align.h"
#include "ops/bound.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/check_numbers.h"
#include "ops/common/cost_special.h"
#include "ops/common/movement.h"
#include "ops/common/scalar.h"
#include "ops/common/value_range.h"

namespace poprt::ops::roi_align_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &rois = ctx.in(1);
  check_index_dtype(ctx, 2);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() != 4 || (rois.has_shape && rois.shape.size() != 2))
    ctx.fail_input("input {} must have four dimensions, rois two", shape_string(x.shape));
  check_places(ctx.node, 2, x.shape[0], "batch index");
  ctx.out(0, x.dtype,
          {rois.has_shape ? rois.shape[0] : kUnknownDim, x.shape[1],
           ctx.node.int_attr("output_height", 1), ctx.node.int_attr("output_width", 1)});
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  const std::string mode = ctx.node.string_attr("mode", "avg");
  if (mode != "avg" && mode != "max") ctx.fail_unsupported("mode '{}'", mode);
  const std::string coordinates = ctx.node.string_attr(
      "coordinate_transformation_mode", ctx.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    ctx.fail_unsupported("coordinate_transformation_mode '{}'", coordinates);
  const DType t = real_type(ctx);
  const auto place = out_as(ctx, 0, t);
  check_numbers(ctx, 2, calls::Number::batch_index, x[0]);
  ctx.emit(calls::RoiAlign{.n = x[0],
                           .c = x[1],
                           .h = x[2],
                           .w = x[3],
                           .rois = y[0],
                           .oh = y[2],
                           .ow = y[3],
                           .ratio = ctx.node.int_attr("sampling_ratio", 0),
                           .max = mode == "max",
                           .half_pixel = coordinates == "half_pixel",
                           .scale = ctx.node.float_attr("spatial_scale", 1.0f)},
           {in_as(ctx, 0, t), in_as(ctx, 1, t), ctx.in(2), place});
  finish_as(ctx, 0, place, t);
}

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  const Item& sized = in[1].size ? in[1] : in[2];
  if (in[0].size || sized.axis != 0) return ctx.refuse_sizes();
  // If only the batch indices have a size, there must be as many of them as regions.
  if (!in[1].size && ctx.shape(1)[0] != ctx.shape(2)[0]) return ctx.refuse_sizes();
  ir::Value* size = sized.size;
  // An empty region of the first image costs little.
  for (Item* item : {&in[1], &in[2]}) {
    item->sized(size, 0);
    item->value = ctx.zero_filled(*item);
  }
  return {size, 0};
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 1, 0, 1);
  for (const size_t i : {1, 2}) ctx.carry(i, 0, 0, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "RoiAlign",
                   .since = 10,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::roi_align,
                   .facts = {.trial = {"T[1,4,4,4]; T[1,4]; s64[1] = [0]"}},
                   .bound = bound};

}  // namespace poprt::ops::roi_align_op
