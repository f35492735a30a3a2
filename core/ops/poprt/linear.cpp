// poprt.Linear: MatMul with constant weights, and the epilogue that its kernel applies.
#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/common/matmul.h"
#include "ops/op.h"

namespace poprt::ops::poprt_linear_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &w = ctx.in(1);
  if (!w.is_static() || w.shape.size() != 2)
    ctx.fail_input("weights must have two static dimensions");
  const bool transposed = ctx.node.int_attr("transB", 0) != 0;
  const int64_t k = w.shape[transposed ? 1 : 0], n = w.shape[transposed ? 0 : 1];
  if (!x.has_shape) return ctx.out_dtype(0, x.dtype);
  if (x.shape.empty()) ctx.fail_input("input must have a dimension");
  if (x.shape.back() >= 0 && x.shape.back() != k)
    ctx.fail_input("input {} does not fit weights {}", shape_string(x.shape),
                   shape_string(w.shape));
  ir::ValueType y = x;
  y.shape.back() = n;
  if (!y.symbols.empty()) y.symbols.back().clear();
  ctx.out(0, std::move(y));
}

void lower(LowerContext& ctx) {
  const Tensor* w = ctx.constant(1);
  if (!w || w->dtype() != DType::f32 || ctx.in_dtype(0) != DType::f32)
    ctx.fail_unsupported("weights must be constant and all types f32");
  if (ctx.has(2) && !ctx.constant(2)) ctx.fail_unsupported("bias must be constant");
  const bool transposed = ctx.node.int_attr("transB", 0) != 0;
  PackedMatmul p;
  p.k = w->shape()[transposed ? 1 : 0];
  p.n = w->shape()[transposed ? 0 : 1];
  const Shape& x = ctx.in_shape(0);
  p.m = element_count(std::span(x).first(x.size() - 1));
  p.b = *w;
  p.b_k = transposed ? 1 : p.n;
  p.b_n = transposed ? p.k : 1;
  if (ctx.has(2)) p.bias = *ctx.constant(2);
  p.residual_after = ctx.node.int_attr("residual_after_activation", 0) != 0;
  p.activation = fused_activation(ctx.node);
  p.a = ctx.in(0);
  if (ctx.has(3)) p.residual = ctx.in(3);
  p.c = ctx.out(0);
  lower_packed_matmul(ctx, p);
}

void map_axes(AxesContext& ctx) {
  const size_t transposed = ctx.node.int_attr("transB", 0) != 0, last = ctx.in(0).size() - 1;
  axes::range(ctx, 0, 0, last, 0, 0);
  ctx.carry(1, 1 - transposed, 0, last);
  ctx.reduce({{0, last}, {1, transposed}});
  axes::per_channel(ctx, 2, last);
  axes::same(ctx, 3, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Linear",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.trial = {"T[4,4]; T[4,4]"}}};

}  // namespace poprt::ops::poprt_linear_op
