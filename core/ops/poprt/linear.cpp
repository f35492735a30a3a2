// poprt.Linear: MatMul with constant weights, and the epilogue that its kernel applies. Inputs: x,
// weights, bias?, residual?, scales?, zero points?.
//
// Weights may be f16, bf16, f8_143 (input 4 may be their scale), or integers of at most 8 bits: (q
// - zero point) * scale. Then input 4 is the scales, f32, and input 5 the zero points (default:
// attribute `zero_point`), integers of any type. Both have one element, or one for each column and
// each `block_size` values of K (0: all of K), in the order of the axes of the weights. Attribute
// `products` states the rounding of x that kernels may apply: "f32" (default) none, "bytes" to
// bytes that have a scale for each part of a block, "bf16" to bf16, "f16" to f16, which also allows
// sums of 32 products in f16.
#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/common/matmul.h"
#include "ops/common/narrow_matmul.h"
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

// Sets the number of rows, the buffers of x and of the result, and the parts of the epilogue.
template <class Product>
void set_operands(LowerContext& ctx, Product& p) {
  const Shape& x = ctx.in_shape(0);
  p.m = element_count(std::span(x).first(x.size() - 1));
  if (ctx.has(2)) p.bias = *ctx.constant(2);
  p.residual_after = ctx.node.int_attr("residual_after_activation", 0) != 0;
  p.activation = fused_activation(ctx.node);
  p.a = ctx.in(0);
  if (ctx.has(3)) p.residual = ctx.in(3);
  p.c = ctx.out(0);
}

calls::NarrowProducts narrow_products(const LowerContext& ctx) {
  const std::string name = ctx.node.string_attr("products", "f32");
  if (name == "f32") return calls::NarrowProducts::f32;
  if (name == "bytes") return calls::NarrowProducts::bytes;
  if (name == "f16") return calls::NarrowProducts::f16;
  if (name != "bf16") ctx.fail_unsupported("products = {}", name);
  return calls::NarrowProducts::bf16;
}

void lower_narrow(LowerContext& ctx, const Tensor& w, bool transposed, int64_t k, int64_t n) {
  const Tensor *scales = ctx.constant(4), *zeros = ctx.constant(5);
  const int64_t block = ctx.node.int_attr("block_size", 0);
  const bool fits = is_float(w.dtype())
                        ? !ctx.has(5) && (!scales || scales->dtype() == DType::f32)
                        : scales && scales->dtype() == DType::f32 && (!ctx.has(5) || zeros) &&
                              is_narrow_block(w.dtype(), block);
  if (!fits || block < 0 || block > INT32_MAX)
    ctx.fail_unsupported("scales or zero points do not fit the weights");
  NarrowMatmul p;
  p.matrix = {.k = k, .n = n, .by_k = transposed ? 1 : n, .by_n = transposed ? k : 1};
  p.b = w;
  p.block = block;
  p.zero = ctx.node.int_attr("zero_point", 0);
  p.products = narrow_products(ctx);
  if (scales) {
    const int64_t blocks = block ? (k + block - 1) / block : 1;
    const bool one = scales->count() == 1;
    if (!one && scales->count() != blocks * n) ctx.fail_unsupported("scales do not fit the blocks");
    if (zeros && zeros->count() != scales->count())
      ctx.fail_unsupported("zero points do not fit the scales");
    p.scales = *scales;
    if (zeros) p.zeros = *zeros;
    p.scale_by_block = one ? 0 : transposed ? 1 : n;
    p.scale_by_n = one ? 0 : transposed ? blocks : 1;
  }
  set_operands(ctx, p);
  lower_narrow_matmul(ctx, p);
}

void lower(LowerContext& ctx) {
  const Tensor* w = ctx.constant(1);
  const bool narrow = w && w->count() > 0 && narrow_format(w->dtype());
  if (!w || (w->dtype() != DType::f32 && !narrow) || ctx.in_dtype(0) != DType::f32)
    ctx.fail_unsupported("weights must be constant and all types f32");
  if (ctx.has(2) && !ctx.constant(2)) ctx.fail_unsupported("bias must be constant");
  const bool transposed = ctx.node.int_attr("transB", 0) != 0;
  const int64_t k = w->shape()[transposed ? 1 : 0], n = w->shape()[transposed ? 0 : 1];
  if (narrow) return lower_narrow(ctx, *w, transposed, k, n);
  PackedMatmul p;
  p.k = k;
  p.n = n;
  p.b = *w;
  p.b_k = transposed ? 1 : n;
  p.b_n = transposed ? k : 1;
  set_operands(ctx, p);
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
