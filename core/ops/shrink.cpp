// x < -lambd: x + bias; x > lambd: x - bias; else 0. Computed in f32.
#include "ops/common/as_f32.h"
#include "ops/common/elementwise_program.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  const float lambd = ctx.node.float_attr("lambd", 0.5f), bias = ctx.node.float_attr("bias", 0);
  ElementwiseProgram p;
  const auto x = p.add_input();
  const auto high = p.step(ElementwiseOp::greater, x, p.constant(lambd));
  const auto low = p.step(ElementwiseOp::less, x, p.constant(-lambd));
  const auto upper = p.step(ElementwiseOp::where, high,
                            p.step(ElementwiseOp::sub, x, p.constant(bias)), p.constant(0));
  p.add_output(
      p.step(ElementwiseOp::where, low, p.step(ElementwiseOp::add, x, p.constant(bias)), upper),
      DType::f32);
  const auto y = out_as_f32(ctx, 0);
  const program::BufferId operands[] = {in_as_f32(ctx, 0), y};
  ctx.emit("elementwise", operands, p.encode(), p.constants);
  finish_f32(ctx, 0, y);
}

}  // namespace

extern const OpDef shrink_op;
const OpDef shrink_op = {.name = "Shrink",
                         .since = 9,
                         .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                         .lower = lower};

}  // namespace poprt::ops
