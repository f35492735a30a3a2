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

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Expand",
                   .since = 8,
                   .infer = infer,
                   .lower = lower,
                   .facts = {.moves = true,
                             .narrows = true,
                             .shape_inputs = 0b10,
                             .constant_inputs = 0b10,
                             .s64_inputs = ~0b1u,
                             .monotone = Monotone::first,
                             .size_rule = SizeRule::expand,
                             .trial = {"T[4,4]; s64[3] = [2, 4, 4]"}}};

}  // namespace poprt::ops::expand_op
