// Versions differ. Opsets below 7 have is_test; a node without it but with a single output is
// treated as inference. Opsets below 9 have `spatial`. Since opset 14 there is training_mode, which
// normalises by the statistics of the batch itself.
#include <array>

#include "base/checked.h"
#include "kernels/calls/batch_normalization.h"
#include "kernels/calls/reduce.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/elementwise.h"
#include "ops/common/flops.h"
#include "ops/common/reduce.h"

namespace poprt::ops::batch_normalization_op {
namespace {

// With spatial = 0, every element of an image has its own mean and variance.
bool is_spatial(const ir::Node& node) {
  return node.opset() >= 9 || node.int_attr("spatial", 1) != 0;
}

int64_t channels_of(const Shape& x) { return x.size() < 2 ? 1 : x[1]; }
int64_t pixels_of(const Shape& x) {
  return element_count(std::span(x).subspan(std::min<size_t>(x.size(), 2)));
}

void infer(InferContext& ctx) {
  ctx.out(0, ctx.in(0));
  if (const ir::ValueType& x = ctx.in(0); x.is_static()) {
    const int64_t count = is_spatial(ctx.node)
                              ? channels_of(x.shape)
                              : checked_mul(channels_of(x.shape), pixels_of(x.shape));
    for (size_t i = 1; i < 5; i++)
      if (ctx.in(i).is_static() && element_count(ctx.in(i).shape) != count)
        ctx.fail_input("input {} is {}, expected [{}]", i, shape_string(ctx.in(i).shape), count);
  }
  // Without training, lower() refuses these outputs if they are read.
  for (size_t i = 1; i < ctx.node.outputs().size(); i++) ctx.out(i, ctx.in(i == 2 ? 4 : 3));
}

// Nothing writes the outputs from `first` on, so they must not be read.
void refuse_outputs(const LowerContext& ctx, size_t first) {
  for (size_t i = first; i < ctx.node.outputs().size(); i++)
    if (const ir::Value* v = ctx.node.output(i);
        v && (!v->uses().empty() || v->graph().is_output(v)))
      ctx.fail_unsupported("output {} (statistics) exists in training only", i);
}

// Computes mean and variance over all axes except the channels. Outputs 1 and 2 are the running
// statistics, into which the batch enters with weight 1 - momentum.
void lower_training(LowerContext& ctx) {
  refuse_outputs(ctx, 3);
  const Shape& x = ctx.in_shape(0);
  if (element_count(x) == 0) ctx.fail_unsupported("an empty batch has no mean");
  const Shape whole = {x[0], channels_of(x), pixels_of(x)}, small = {1, channels_of(x), 1};
  const DType t = real_type(ctx);
  const auto input = ctx.view(in_as(ctx, 0, t), 0, t, whole);
  const auto y = out_as(ctx, 0, t);
  const auto centered = ctx.temporary(t, whole), squares = ctx.temporary(t, whole);
  const auto mean = ctx.temporary(t, small), variance = ctx.temporary(t, small);
  const calls::Reduce average{.kind = kernels::Reduction::mean, .axes = {0, 2}};
  ctx.emit(average, {input, mean});
  ElementwiseProgram center;
  const auto v = center.add_input(), m = center.add_input();
  const auto d = center.step(ElementwiseOp::sub, v, m);
  center.add_output(d, t);
  center.add_output(center.step(ElementwiseOp::square, d), t);
  emit_program(ctx, center, std::array{input, mean, centered, squares}, t);
  ctx.emit(average, {squares, variance});
  for (const size_t i : {1, 2}) {
    const auto place = out_as(ctx, i, t);
    if (place == LowerContext::kNone) continue;
    const float momentum = ctx.node.float_attr("momentum", 0.9f);
    ElementwiseProgram p;
    const auto before = p.add_input(), now = p.add_input();
    p.add_output(
        p.step(ElementwiseOp::add, p.step(ElementwiseOp::mul, before, p.constant(momentum)),
               p.step(ElementwiseOp::mul, now, p.constant(1 - momentum))),
        t);
    const auto running = ctx.view(in_as(ctx, i + 2, t), 0, t, small);
    emit_program(ctx, p,
                 std::array{running, i == 1 ? mean : variance, ctx.view(place, 0, t, small)}, t);
    finish_as(ctx, i, place, t);
  }
  if (y == LowerContext::kNone) return;
  ctx.emit(calls::BatchNormalization{.n = whole[0],
                                     .channels = whole[1],
                                     .pixels = whole[2],
                                     .epsilon = ctx.node.float_attr("epsilon", 1e-5f)},
           {input, in_as(ctx, 1, t), in_as(ctx, 2, t), mean, variance, y});
  finish_as(ctx, 0, y, t);
}

void lower(LowerContext& ctx) {
  const Shape& x = ctx.in_shape(0);
  if (x.empty()) ctx.fail_unsupported("a scalar has no channels");
  if (ctx.opset() >= 14 && ctx.node.int_attr("training_mode", 0)) return lower_training(ctx);
  if (ctx.opset() < 7 && !ctx.node.int_attr("is_test", 0) && ctx.node.outputs().size() > 1)
    ctx.fail_unsupported("only inference is supported, the node trains (is_test = 0)");
  refuse_outputs(ctx, 1);
  if (element_count(x) == 0) return;
  const bool spatial = is_spatial(ctx.node);
  const int64_t channels = channels_of(x), pixels = pixels_of(x);
  ctx.emit(calls::BatchNormalization{.n = x[0],
                                     .channels = spatial ? channels : checked_mul(channels, pixels),
                                     .pixels = spatial ? pixels : 1,
                                     .epsilon = ctx.node.float_attr("epsilon", 1e-5f)},
           {ctx.in(0), ctx.in(1), ctx.in(2), ctx.in(3), ctx.in(4), ctx.out(0)});
}

// With given statistics, every element is computed independently; in training, only the channels
// are independent.
void map_axes(AxesContext& ctx) {
  const size_t rank = ctx.in(0).size();
  const bool training = ctx.node.int_attr("training_mode", 0) != 0;
  if (training && rank >= 2)
    ctx.carry(0, 1, 0, 1);
  else if (!training)
    axes::same(ctx, 0, 0);
  if (rank < 2) return;
  for (size_t i = 1; i < 5; i++) {
    if (!ctx.has(i) || (training && i > 2)) {
      ctx.independent(i, 0);
      continue;
    }
    const bool spatial = is_spatial(ctx.node);
    axes::in_order(ctx, {i, 0, ctx.in(i).size(), 0, 1, spatial ? 2 : rank});
  }
  for (size_t o = 1; training && o < std::min<size_t>(ctx.output_count(), 3); o++) {
    if (!ctx.makes(o)) continue;
    for (size_t i = 1; i < 5; i++)
      if (i != o + 2) ctx.independent(i, o);
    if (ctx.out(o).size() == 1) ctx.carry(0, 1, o, 0);
    axes::same(ctx, o + 2, o);
  }
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "BatchNormalization",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::batch_normalization,
                   .sharing = {.in_place = 1},
                   .facts = {.weight_inputs = 0b11110,
                             .flops = flops::batch_normalization,
                             .trial = {"T[1,4,4,4]; T[4]; T[4]; T[4]; T[4]"}}};

}  // namespace poprt::ops::batch_normalization_op
