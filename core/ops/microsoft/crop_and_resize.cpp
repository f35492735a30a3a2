// Inputs: X [N,C,H,W], rois [R,4] (y1, x1, y2, x2 as fractions of H - 1 and W - 1), batch_indices
// [R], crop_size [2]. Points outside X become extrapolation_value, and so does a region whose batch
// index refers to no image if the program does not check indices; otherwise the run fails.
#include "kernels/calls/crop_and_resize.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/check_numbers.h"
#include "ops/common/cost_special.h"
#include "ops/common/value_range.h"

namespace poprt::ops::microsoft_crop_and_resize_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &rois = ctx.in(1);
  if (!x.has_shape || !rois.has_shape) return ctx.out_dtype(0, x.dtype);
  const auto crop = ctx.ints(3);
  if (x.shape.size() != 4 || rois.shape.size() != 2 ||
      (rois.shape[1] != 4 && rois.shape[1] != kUnknownDim) || (crop && crop->size() != 2))
    ctx.fail_input("X must be [N,C,H,W], rois [R,4] and crop_size two positive numbers");
  check_places(ctx.node, 2, x.shape[0], "batch index");
  if (crop)
    for (const int64_t size : *crop)
      if (size <= 0 || size >= (1 << 20))
        ctx.fail_input("crop_size is {} x {}", (*crop)[0], (*crop)[1]);
  ctx.out(0, x.dtype,
          {rois.shape[0], x.shape[1], crop ? (*crop)[0] : kUnknownDim,
           crop ? (*crop)[1] : kUnknownDim});
}

void lower(LowerContext& ctx) {
  const std::string mode = ctx.node.string_attr("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest") ctx.fail_unsupported("mode '{}'", mode);
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  if (x[2] == 0 || x[3] == 0) ctx.fail_unsupported("empty images");
  const auto to = out_as_f32(ctx, 0);
  check_numbers(ctx, 2, calls::Number::batch_index, x[0]);
  ctx.emit(calls::CropAndResize{.n = x[0],
                                .c = x[1],
                                .h = x[2],
                                .w = x[3],
                                .rois = y[0],
                                .oh = y[2],
                                .ow = y[3],
                                .nearest = mode == "nearest",
                                .outside = ctx.node.float_attr("extrapolation_value", 0)},
           {in_as_f32(ctx, 0), in_as_f32(ctx, 1), ctx.in(2), to});
  finish_f32(ctx, 0, to);
}

void map_axes(AxesContext& ctx) {
  ctx.carry(0, 1, 0, 1);
  for (const size_t i : {1, 2}) ctx.carry(i, 0, 0, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "CropAndResize",
                   .domain = "com.microsoft",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::crop_and_resize,
                   .facts = {.trial = {"T[1,4,4,4]; T[1,4]; s32[1] = [0]; s32[2] = [2, 2]"}}};

}  // namespace poprt::ops::microsoft_crop_and_resize_op
