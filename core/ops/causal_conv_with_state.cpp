// Inputs: input [B, C, L], weight [C, 1, k], bias?, past_state [B, C, k - 1]?. Outputs: output,
// present_state.
//
// Prepends the past to the input and applies a depthwise convolution without padding, then SiLU if
// the attribute requests it.
#include "kernels/calls/conv_generic.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/movement.h"

namespace poprt::ops::causal_conv_with_state_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  ctx.out(0, x);
  if (!x.has_shape || !w.has_shape) return ctx.out_dtype(1, x.dtype);
  if (x.shape.size() != 3 || w.shape.size() != 3)
    ctx.fail_input("input {} and weight {} must have three dimensions", shape_string(x.shape),
                   shape_string(w.shape));
  ctx.out(1, x.dtype, {x.shape[0], x.shape[1], w.shape[2] < 0 ? kUnknownDim : w.shape[2] - 1});
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &w = ctx.in_shape(1);
  const int64_t past = w[2] - 1, length = x[2] + past;
  if (w[0] != x[1] || w[1] != 1 || w[2] < 1)
    ctx.fail_unsupported("weight {} does not fit input {}", shape_string(w), shape_string(x));
  const DType type = ctx.in_dtype(0);
  const auto padded = ctx.temporary(type, {x[0], x[1], length});
  StridedCopy copy;
  copy.to_strides = {x[1] * length, length, 1};
  const auto part = [&](program::BufferId from, int64_t size, int64_t offset, bool zero) {
    copy.dims = {x[0], x[1], size};
    copy.from_strides = zero ? std::vector<int64_t>{0, 0, 0} : contiguous_strides(copy.dims);
    copy.to_offset = offset;
    emit_strided_copy(ctx, from, padded, type, copy);
  };
  if (past && ctx.has(3))
    part(ctx.in(3), past, 0, false);
  else if (past)
    part(ctx.pack(Tensor::zeros(type, {1})), past, 0, true);
  part(ctx.in(0), x[2], past, false);
  const std::string activation = ctx.node.string_attr("activation", "none");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none") ctx.fail_unsupported("activation '{}'", activation);
  const auto y = ctx.out(0);
  if (y != LowerContext::kNone && element_count(x)) {
    const auto sums = silu ? ctx.temporary(type, x) : y;
    ctx.emit(calls::ConvGeneric{.conv = {.n = x[0],
                                         .groups = x[1],
                                         .c = 1,
                                         .m = 1,
                                         .axes = {{.in = length, .out = x[2], .kernel = w[2]}}}},
             {padded, ctx.in(1), ctx.has(2) ? ctx.in(2) : LowerContext::kNone, sums});
    if (silu) {
      ElementwiseProgram p;
      const auto a = p.add_input();
      p.add_output(p.step(ElementwiseOp::silu, a, p.constant(1)), type);
      ctx.emit(p.call(), {sums, y});
    }
  }
  if (ctx.node.outputs().size() < 2 || ctx.out(1) == LowerContext::kNone || !past) return;
  StridedCopy tail;
  tail.dims = {x[0], x[1], past};
  tail.from_strides = copy.to_strides;
  tail.to_strides = contiguous_strides(tail.dims);
  tail.from_offset = x[2];
  emit_strided_copy(ctx, padded, ctx.out(1), type, tail);
}

void map_axes(AxesContext& ctx) {
  for (size_t o = 0; o < 2; o++)
    for (const size_t i : {0, 3}) axes::range(ctx, i, 0, 2, o, 0);
  ctx.carry(1, 0, 0, 1);
  axes::per_channel(ctx, 2);
  for (const size_t i : {1, 2}) ctx.independent(i, 1);
  // If the input is at least as long as the state, the new state contains nothing of the past.
  if (ctx.in(0)[2] + 1 >= ctx.in(1)[2]) ctx.independent(3, 1);
}

}  // namespace

constexpr StateForm kCausalConvStates[] = {{3, 1}};

extern const OpDef def;
const OpDef def = {.name = "CausalConvWithState",
                   .since = 27,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::causal_conv,
                   .facts = {.states = kCausalConvStates, .trial = {"T[1,4,4]; T[4,1,2]", "", 2}}};

}  // namespace poprt::ops::causal_conv_with_state_op
