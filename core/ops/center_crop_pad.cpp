// Crops or pads each axis symmetrically to the constant shape in input 1. If the difference is odd,
// one element more is removed or added at the end than at the beginning.
#include <algorithm>

#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"

namespace poprt::ops::center_crop_pad_op {
namespace {

Shape result_of(const ir::Node& node, const Shape& x, const std::vector<int64_t>& sizes) {
  const auto rank = static_cast<int64_t>(x.size());
  std::vector<int64_t> axes = node.ints_attr("axes");
  if (!node.find_attr("axes"))
    for (int64_t d = 0; d < rank; d++) axes.push_back(d);
  if (axes.size() != sizes.size())
    fail(ErrorCode::invalid_argument, "{}: shape {} does not have one size for each of {} axes",
         node.describe(), shape_string(sizes), axes.size());
  Shape y = x;
  for (size_t i = 0; i < axes.size(); i++) {
    if (sizes[i] < 0)
      fail(ErrorCode::invalid_argument, "{}: size {} is negative", node.describe(), sizes[i]);
    y[static_cast<size_t>(normalize_axis(axes[i], rank))] = sizes[i];
  }
  return y;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  const auto sizes = ctx.ints(1);
  if (!sizes) return ctx.out(0, x.dtype, Shape(x.shape.size(), kUnknownDim));
  ctx.out(0, x.dtype, result_of(ctx.node, x.shape, *sizes));
}

void lower(LowerContext& ctx) {
  if (!ctx.constant(1)) ctx.fail_unsupported("the shape must be constant");
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  std::vector<std::vector<int64_t>> maps(x.size());
  for (size_t d = 0; d < x.size(); d++) {
    if (x[d] == y[d]) continue;
    const int64_t crop = std::max<int64_t>(x[d] - y[d], 0) / 2;
    const int64_t pad = std::max<int64_t>(y[d] - x[d], 0) / 2;
    for (int64_t i = 0; i < y[d]; i++) {
      const int64_t from = i - pad + crop;
      maps[d].push_back(from >= 0 && from < x[d] ? from : -1);
    }
    if (maps[d].empty()) return;  // nothing to write
  }
  emit_map_axes(ctx, ctx.in(0), LowerContext::kNone, ctx.out(0), ctx.in_dtype(0), x, maps);
}

void map_axes(AxesContext& ctx) {
  for (size_t d = 0; d < ctx.in(0).size(); d++) {
    const int64_t x = ctx.in(0)[d], y = ctx.out()[d];
    if (x == y)
      ctx.carry(0, d, 0, d);
    else
      ctx.link({0, d, 0, d, kNoRepeat, 1, 1,
                std::max<int64_t>(y - x, 0) / 2 - std::max<int64_t>(x - y, 0) / 2});
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "CenterCropPad",
    .since = 18,
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .cost = cost::movement,
    .facts = {.shape_inputs = 0b10, .constant_inputs = 0b10, .trial = {"T[4,4]; s64[2] = [2, 6]"}}};

}  // namespace poprt::ops::center_crop_pad_op
