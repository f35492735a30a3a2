// x + bias if x < -lambd, x - bias if x > lambd, else 0. The computation is in f32, or in f64 for
// f64 input.
#include <array>

#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::shrink_op {
namespace {

void lower(LowerContext& ctx) {
  const float lambd = ctx.node.float_attr("lambd", 0.5f), bias = ctx.node.float_attr("bias", 0);
  const DType t = real_type(ctx);
  const auto x = in_as(ctx, 0, t), y = out_as(ctx, 0, t);
  ElementwiseProgram p;
  const auto v = p.add_input();
  const auto high = p.step(ElementwiseOp::greater, v, p.constant(lambd));
  const auto low = p.step(ElementwiseOp::less, v, p.constant(-lambd));
  const auto upper = p.step(ElementwiseOp::where, high,
                            p.step(ElementwiseOp::sub, v, p.constant(bias)), p.constant(0));
  p.add_output(
      p.step(ElementwiseOp::where, low, p.step(ElementwiseOp::add, v, p.constant(bias)), upper), t);
  emit_program(ctx, p, std::array{x, y}, t);
  finish_as(ctx, 0, y, t);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Shrink",
                   .since = 9,
                   .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                   .lower = lower,
                   .axes = axes::elementwise,
                   .facts = {.per_element = true}};

}  // namespace poprt::ops::shrink_op
