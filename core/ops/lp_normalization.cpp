// x over the L1 or L2 norm along the axis; 0 where that is 0.
#include "ops/common/as_real.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/reduce.h"

namespace poprt::ops {
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
  ctx.emit("reduce", {x, norm}, {static_cast<int64_t>(kind), axis});
  if (t == DType::f64) {
    const auto some = ctx.temporary(DType::boolean, shape);
    const auto code = [](ElementwiseOp op) { return static_cast<int64_t>(op); };
    ctx.emit("elementwise_generic", {norm, some}, {code(ElementwiseOp::to_bool)});
    ctx.emit("elementwise_generic", {x, norm, y}, {code(ElementwiseOp::div)});
    ctx.emit("elementwise_generic", {some, y, ctx.pack(Tensor::scalar<double>(0)), y},
             {code(ElementwiseOp::where)});
    return;
  }
  ElementwiseProgram p;
  const auto a = p.add_input(), n = p.add_input();
  p.add_output(p.step(ElementwiseOp::where, n, p.step(ElementwiseOp::div, a, n), p.constant(0)),
               DType::f32);
  const LowerContext::BufferId operands[] = {x, norm, y};
  ctx.emit("elementwise", operands, p.encode(), p.constants);
  finish_as(ctx, 0, y, t);
}

}  // namespace

extern const OpDef lp_normalization_op;
const OpDef lp_normalization_op = {.name = "LpNormalization", .infer = infer, .lower = lower};

}  // namespace poprt::ops
