// poprt.ExpertRows (x [R,K], weights [E,N,K], chosen s64 [R*share]; share): row r of the result
// [R*share,N] is row r / share of x times the transpose of weights[chosen[r]]. It reads the weights
// of the chosen experts only.
#include "kernels/calls/expert_rows.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::poprt_expert_rows_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1), &chosen = ctx.in(2);
  if (!x.is_static() || !w.is_static() || !chosen.is_static()) return ctx.out_dtype(0, x.dtype);
  const int64_t share = ctx.node.int_attr("share", 1);
  if (x.shape.size() != 2 || w.shape.size() != 3 || w.shape[2] != x.shape[1] || share < 1 ||
      w.shape[0] < 1 || chosen.shape != Shape{x.shape[0] * share})
    ctx.fail_input("x {}, weights {} and chosen {} do not fit", shape_string(x.shape),
                   shape_string(w.shape), shape_string(chosen.shape));
  ctx.out(0, x.dtype, {x.shape[0] * share, w.shape[1]});
}

void lower(LowerContext& ctx) {
  const Shape& w = ctx.in_shape(1);
  const auto y = out_as_f32(ctx, 0);
  if (y == LowerContext::kNone) return;
  const bool half = ctx.in_dtype(1) == DType::f16;
  ctx.emit(calls::ExpertRows{.rows = ctx.in_shape(2)[0],
                             .share = ctx.node.int_attr("share", 1),
                             .experts = w[0],
                             .columns = w[1],
                             .depth = w[2]},
           {in_as_f32(ctx, 0), half ? ctx.in(1) : in_as_f32(ctx, 1), ctx.in(2), y});
  finish_f32(ctx, 0, y);
}

void map_axes(AxesContext& ctx) {
  const int64_t share = ctx.node.int_attr("share", 1);
  axes::grouped(ctx, {{0, 0}, 1, 0, 0, share, ctx.in(0)[0]});
  ctx.carry(1, 1, 0, 1);
  ctx.carry(2, 0, 0, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ExpertRows",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::expert_rows,
                   .facts = {.s64_inputs = 1U << 2,
                             .weight_inputs = 1U << 1,
                             .trial = {"T[2,4]; T[2,3,4]; s64[4] = [0, 1, 1, 0]", "share = 2"}}};

}  // namespace poprt::ops::poprt_expert_rows_op
