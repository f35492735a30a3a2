// x divided by its L1 or L2 norm along the axis; 0 if the norm is 0.
#include <array>

#include "kernels/calls/reduce.h"
#include "ops/bound.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/elementwise.h"
#include "ops/common/reduce.h"

namespace poprt::ops::lp_normalization_op {
namespace {

void infer(InferContext& ctx) {
  const int64_t p = ctx.node.int_attr("p", 2);
  if (p != 1 && p != 2) ctx.fail_input("p is {}, expected 1 or 2", p);
  ctx.out(0, ctx.in(0));
}

void lower(LowerContext& ctx) {
  const auto rank = static_cast<int64_t>(ctx.in_shape(0).size());
  const int64_t axis = normalize_axis(ctx.node.int_attr("axis", -1), rank);
  Shape shape = ctx.in_shape(0);
  shape[static_cast<size_t>(axis)] = 1;
  const DType t = real_type(ctx);
  const auto x = in_as(ctx, 0, t), y = out_as(ctx, 0, t);
  const auto norm = ctx.temporary(t, shape);
  const auto kind =
      ctx.node.int_attr("p", 2) == 1 ? kernels::Reduction::l1 : kernels::Reduction::l2;
  ctx.emit(calls::Reduce{.kind = kind, .axes = {axis}}, {x, norm});
  ElementwiseProgram p;
  const auto a = p.add_input(), n = p.add_input();
  p.add_output(p.step(ElementwiseOp::where, p.step(ElementwiseOp::to_bool, n),
                      p.step(ElementwiseOp::div, a, n), p.constant(0)),
               t);
  emit_program(ctx, p, std::array{x, norm, y}, t);
  finish_as(ctx, 0, y, t);
}

BoundResult bound(BoundContext& ctx) {
  const Item& x = ctx.in[0];
  if (x.axis == ctx.axis_attr(-1)) ctx.refuse_size(x);
  return {x.size, x.axis};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "LpNormalization",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::along_attribute<-1>,
                   .cost = cost::layer_normalization,
                   .bound = bound};

}  // namespace poprt::ops::lp_normalization_op
