// Inputs: input [N, C * taps, blocks], constant image_shape and block_shape. The computation is in
// f32, or in f64 for f64 input.
#include "kernels/calls/col2im.h"
#include "base/checked.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/window.h"

namespace poprt::ops::col2im_op {
namespace {

struct Plan {
  std::vector<int64_t> image, blocks;
  Window window;
  int64_t taps = 1;
};

std::optional<Plan> plan_of(const ir::Node& node) {
  const auto ints = [&](size_t i) {
    const ir::Value* v = node.input(i);
    return v && v->is_constant() ? std::optional(v->constant().to_int64s()) : std::nullopt;
  };
  const auto image = ints(1), kernel = ints(2);
  if (!image || !kernel) return std::nullopt;
  Plan p;
  p.image = *image;
  if (kernel->empty() || kernel->size() != image->size())
    fail(ErrorCode::invalid_argument, "{}: image_shape and block_shape have different lengths",
         node.describe());
  p.window = window_of(node, *image, *kernel);
  p.blocks = window_output(p.window, *image);
  for (const int64_t k : *kernel) p.taps = checked_mul(p.taps, k);
  return p;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const auto p = plan_of(ctx.node);
  if (!x.has_shape || !p) return ctx.out_dtype(0, x.dtype);
  if (x.shape.size() != 3 || (x.shape[1] >= 0 && x.shape[1] % p->taps) ||
      (x.shape[2] >= 0 && x.shape[2] != element_count(p->blocks)))
    ctx.fail_input("input {} does not fit image {} and block {}", shape_string(x.shape),
                   shape_string(p->image), shape_string(p->window.kernel));
  Shape y = {x.shape[0], x.shape[1] < 0 ? kUnknownDim : x.shape[1] / p->taps};
  y.insert(y.end(), p->image.begin(), p->image.end());
  ctx.out(0, x.dtype, std::move(y));
}

void lower(LowerContext& ctx) {
  const auto p = plan_of(ctx.node);
  if (!p) ctx.fail_unsupported("image_shape and block_shape must be constant");
  if (element_count(ctx.out_shape()) == 0) return;
  const Shape& y = ctx.out_shape();
  calls::Col2im call{.planes = checked_mul(y[0], y[1]), .axes = {}};
  for (size_t d = 0; d < p->image.size(); d++)
    call.axes.push_back({.image = p->image[d],
                         .blocks = p->blocks[d],
                         .kernel = p->window.kernel[d],
                         .stride = p->window.strides[d],
                         .pad = p->window.pads_begin[d],
                         .dilation = p->window.dilations[d]});
  const DType t = real_type(ctx);
  const auto place = out_as(ctx, 0, t);
  ctx.emit(call, {in_as(ctx, 0, t), place});
  finish_as(ctx, 0, place, t);
}

// Axis 1 of the input enumerates the channels and, within each, the places of the block.
void map_axes(AxesContext& ctx) {
  ctx.carry(0, 0, 0, 0);
  const int64_t channels = ctx.out()[1];
  if (channels > 0) axes::grouped(ctx, {{0, 1}, ctx.in(0)[1] / channels, 0, 1, 1, channels});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Col2Im",
                   .since = 18,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::movement,
                   .facts = {.shape_inputs = 0b110,
                             .constant_inputs = 0b110,
                             .trial = {"T[1,4,4]; s64[2] = [3, 3]; s64[2] = [2, 2]"}}};

}  // namespace poprt::ops::col2im_op
