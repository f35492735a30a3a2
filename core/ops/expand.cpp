#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"

namespace poprt::ops::expand_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &in = ctx.in(0), &wanted = ctx.in(1);
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  if (const auto shape = ctx.ints(1)) {
    for (const int64_t d : *shape)
      if (d < 0) ctx.fail_input("the shape {} has a negative dimension", shape_string(*shape));
    return ctx.out(0, in.dtype, broadcast_shapes(in.shape, *shape));
  }
  if (!wanted.has_shape || wanted.shape.size() != 1 || wanted.shape[0] < 0)
    return ctx.out_dtype(0, in.dtype);
  ctx.out(0, in.dtype,
          Shape(std::max(in.shape.size(), static_cast<size_t>(wanted.shape[0])), kUnknownDim));
}

void lower(LowerContext& ctx) {
  const Shape &in = ctx.in_shape(0), &out = ctx.out_shape();
  StridedCopy copy{out, std::vector<int64_t>(out.size()), contiguous_strides(out), 0, 0};
  const auto strides = contiguous_strides(in);
  const size_t lead = out.size() - in.size();
  for (size_t i = 0; i < in.size(); i++)
    if (in[i] != 1 || out[lead + i] == 1) copy.from_strides[lead + i] = strides[i];
  emit_strided_copy(ctx, ctx.in(0), ctx.out(0), ctx.in_dtype(0), copy);
}

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  Item& x = in[0];
  const std::vector<Extent> to = ctx.extents(1);
  const size_t rank = x.value->shape().size(), out = std::max(rank, to.size());
  std::optional<size_t> axis;
  if (x.size) axis = x.axis + out - rank;
  for (size_t k = 0; k < to.size(); k++) {
    if (!to[k].actual) continue;
    const size_t at = k + out - to.size();
    if (axis.value_or(at) != at) ctx.refuse_shape(1);
    axis = at;
  }
  if (!axis) return {};
  std::vector<AxisSize> all;
  if (x.size)
    all.push_back({x.size, x.value->shape()[x.axis]});
  else if (*axis + rank >= out && x.value->shape()[*axis + rank - out] != 1)
    all.push_back({nullptr, x.value->shape()[*axis + rank - out]});
  std::vector<int64_t> dims;
  for (const Extent& e : to) dims.push_back(e.most);
  if (*axis + to.size() >= out) {
    const Extent& e = to[*axis + to.size() - out];
    if (e.actual || e.most != 1) all.push_back({e.actual, e.most});
  }
  const AxisSize common = ctx.broadcast_size(all);
  if (x.size) x.value = ctx.broadcast_to(x, common);
  if (*axis + to.size() >= out) dims[*axis + to.size() - out] = common.bound;
  in[1].value = ctx.build.integers(dims);
  return {common.size, *axis};
}

void map_axes(AxesContext& ctx) { axes::aligned(ctx, 0, 0); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Expand",
                   .since = 8,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.moves = true,
                             .narrows = true,
                             .shape_inputs = 0b10,
                             .extent_inputs = 0b10,
                             .bounds_shape = true,
                             .constant_inputs = 0b10,
                             .s64_inputs = ~0b1u,
                             .monotone = Monotone::first,
                             .trial = {"T[4,4]; s64[3] = [2, 4, 4]"}},
                   .bound = bound};

}  // namespace poprt::ops::expand_op
