#include "kernels/calls/reverse_sequence.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"
#include "ops/common/value_range.h"

namespace poprt::ops::reverse_sequence_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &in = ctx.in(0), &lens = ctx.in(1);
  const int64_t batch = ctx.node.int_attr("batch_axis", 1),
                time = ctx.node.int_attr("time_axis", 0);
  if (batch + time != 1 || batch * time != 0)
    ctx.fail_input("batch_axis {} and time_axis {} should be 0 and 1", batch, time);
  if (lens.dtype != DType::undefined && lens.dtype != DType::s64)
    ctx.fail_input("sequence_lens should be s64");
  if (in.has_shape && in.shape.size() < 2)
    ctx.fail_input("expected rank 2 or more, found {}", shape_string(in.shape));
  if (in.has_shape && lens.has_shape) {
    const int64_t n = in.shape[static_cast<size_t>(batch)];
    if (lens.shape.size() != 1 || (n >= 0 && lens.shape[0] >= 0 && lens.shape[0] != n))
      ctx.fail_input("sequence_lens should be [{}], found {}", n, shape_string(lens.shape));
  }
  if (in.has_shape)
    check_lengths(ctx.node, 1, in.shape[static_cast<size_t>(time)], "sequence length");
  ctx.out(0, in);
}

void lower(LowerContext& ctx) {
  const Shape& in = ctx.in_shape(0);
  element_bytes(ctx, ctx.in_dtype(0));
  ctx.emit(
      calls::ReverseSequence{.d0 = in[0],
                             .d1 = in[1],
                             .inner = partial_product(in, 2, in.size()),
                             .time = ctx.node.int_attr("time_axis", 0) ? calls::TimeAxis::second
                                                                       : calls::TimeAxis::first,
                             .checked = ctx.checks(1)},
      {ctx.in(0), ctx.in(1), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  const auto time = static_cast<size_t>(ctx.node.int_attr("time_axis", 0) != 0);
  axes::same(ctx, 0, 0, std::span(&time, 1));
  ctx.carry(1, 0, 0, 1 - time);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ReverseSequence",
                   .since = 10,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.moves = true, .trial = {"T[4,4]; s64[4]"}}};

}  // namespace poprt::ops::reverse_sequence_op
