// x < -lambd: x + bias; x > lambd: x - bias; else 0. Computed in f32, f64 in f64.
#include "ops/common/as_real.h"
#include "ops/common/elementwise_program.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  const float lambd = ctx.node.float_attr("lambd", 0.5f), bias = ctx.node.float_attr("bias", 0);
  const DType t = real_type(ctx);
  const auto x = in_as(ctx, 0, t), y = out_as(ctx, 0, t);
  if (t == DType::f64) {
    const auto number = [&](float v) {
      return ctx.pack(Tensor::scalar<double>(static_cast<double>(v)));
    };
    const auto emit = [&](ElementwiseOp op, std::initializer_list<LowerContext::BufferId> buffers) {
      ctx.emit("elementwise_generic", buffers, {static_cast<int64_t>(op)});
    };
    const auto outside = ctx.temporary(DType::boolean, ctx.in_shape(0));
    const auto raised = ctx.temporary(t, ctx.in_shape(0));
    emit(ElementwiseOp::greater, {x, number(lambd), outside});
    emit(ElementwiseOp::sub, {x, number(bias), y});
    emit(ElementwiseOp::where, {outside, y, number(0), y});
    emit(ElementwiseOp::less, {x, number(-lambd), outside});
    emit(ElementwiseOp::add, {x, number(bias), raised});
    emit(ElementwiseOp::where, {outside, raised, y, y});
    return;
  }
  ElementwiseProgram p;
  const auto v = p.add_input();
  const auto high = p.step(ElementwiseOp::greater, v, p.constant(lambd));
  const auto low = p.step(ElementwiseOp::less, v, p.constant(-lambd));
  const auto upper = p.step(ElementwiseOp::where, high,
                            p.step(ElementwiseOp::sub, v, p.constant(bias)), p.constant(0));
  p.add_output(
      p.step(ElementwiseOp::where, low, p.step(ElementwiseOp::add, v, p.constant(bias)), upper),
      DType::f32);
  const program::BufferId operands[] = {x, y};
  ctx.emit("elementwise", operands, p.encode(), p.constants);
  finish_as(ctx, 0, y, t);
}

}  // namespace

extern const OpDef shrink_op;
const OpDef shrink_op = {.name = "Shrink",
                         .since = 9,
                         .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                         .lower = lower};

}  // namespace poprt::ops
