// The type of the result is the type of the zero point if given, otherwise attribute output_dtype,
// otherwise u8.
#include "base/onnx_dtype.h"
#include "kernels/calls/fill.h"
#include "kernels/calls/gather.h"
#include "kernels/calls/quantize.h"
#include "ops/common/as_f32.h"
#include "ops/common/cost.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/quantization.h"

namespace poprt::ops::quantize_linear_op {
namespace {

// The type in which x is divided by the scale (attribute precision).
DType precision_of(const InferContext& ctx) {
  const int64_t number = ctx.node.int_attr("precision", 0);
  const auto t = number == 0 ? DType::f32 : dtype_from_onnx(number).value_or(DType::undefined);
  if (t != DType::f32 && t != DType::f16 && t != DType::bf16)
    ctx.fail_unsupported("precision {}, expected 1 (float), 10 (float16) or 16 (bfloat16)", number);
  return t;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  DType dtype = DType::u8;
  precision_of(ctx);
  if (const int64_t number = ctx.node.int_attr("output_dtype", 0)) {
    const auto t = dtype_from_onnx(number);
    if (!t) ctx.fail_unsupported("output_dtype {}", number);
    dtype = *t;
  }
  if (ctx.has(2)) {
    const DType zero = ctx.in(2).dtype;
    if (ctx.node.int_attr("output_dtype", 0) && zero != DType::undefined && zero != dtype)
      ctx.fail_input("the zero point is {}, but output_dtype is {}", dtype_name(zero),
                     dtype_name(dtype));
    dtype = zero;
  }
  if (!x.has_shape) return ctx.out_dtype(0, dtype);
  ctx.out(0, ir::ValueType{dtype, true, x.shape, x.symbols});
  check_quantization(ctx);
}

// x / scale in a 16-bit precision: both operands are rounded to it, and then the quotient.
program::BufferId half_quotient(LowerContext& ctx, const calls::QuantizationGrid& grid,
                                DType precision) {
  const int64_t outer = grid.outer, n = grid.n, inner = grid.inner, block = grid.block;
  Shape x = {outer, n, 1, inner}, scale = {1, 1, 1, 1};
  auto scales = in_as_f32(ctx, 1);
  if (block) {
    const int64_t blocks = (n + block - 1) / block;
    scale = {outer, blocks, 1, inner};
    if (n % block) {  // the last block is shorter, so every element needs its own scale
      std::vector<int64_t> of(static_cast<size_t>(n));
      for (size_t i = 0; i < of.size(); i++) of[i] = static_cast<int64_t>(i) / block;
      const auto repeated = ctx.temporary(DType::f32, x);
      ctx.emit(
          calls::Gather{.outer = outer, .axis = blocks, .inner = inner},
          {scales, ctx.pack(Tensor::of<int64_t>({n}, std::span<const int64_t>(of))), repeated});
      scales = repeated;
      scale = x;
    } else {
      x = {outer, blocks, block, inner};
    }
  } else if (grid.per_axis) {
    scale[1] = n;
  }
  ElementwiseProgram p;
  const auto rounded = [&](ElementwiseProgram::Value v) {
    return p.step(precision == DType::f16 ? ElementwiseOp::round_f16 : ElementwiseOp::round_bf16,
                  v);
  };
  const auto a = p.add_input(), b = p.add_input();
  p.add_output(p.step(ElementwiseOp::div, rounded(a), rounded(b)), precision);
  const auto quotient = ctx.temporary(precision, x);
  const program::BufferId operands[] = {ctx.view(in_as_f32(ctx, 0), 0, DType::f32, x),
                                        ctx.view(scales, 0, DType::f32, scale), quotient};
  ctx.emit(p.call(), operands);
  return quotient;
}

void lower(LowerContext& ctx) {
  const auto grid =
      quantization_grid(ctx.node, ctx.in_shape(0), ctx.in_shape(1), ctx.node.int_attr("axis", 1),
                        ctx.node.int_attr("block_size", 0));
  program::BufferId x = ctx.in(0), scale = ctx.in(1);
  const int64_t precision = ctx.node.int_attr("precision", 0);
  if (precision > 1 && element_count(ctx.in_shape(0)) > 0) {
    x = half_quotient(ctx, grid, *dtype_from_onnx(precision));
    const auto one = ctx.pack(Tensor::scalar(1.0f));
    scale = ctx.temporary(DType::f32, ctx.in_shape(1));
    ctx.emit(calls::Fill{}, {one, scale});
  }
  ctx.emit(calls::Quantize{.grid = grid, .saturate = ctx.node.int_attr("saturate", 1) != 0},
           {x, scale, ctx.has(2) ? ctx.in(2) : LowerContext::kNone, ctx.out(0)});
}

// No clamp is needed because the store saturates.
ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const ElementwiseValue whole =
      p.step(ElementwiseOp::round, p.step(ElementwiseOp::div, in[0], in[1]));
  return n.input(2) ? p.step(ElementwiseOp::add, whole, in[2]) : whole;
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "QuantizeLinear",
                   .since = 10,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes_of_quantization,
                   .cost = cost::elementwise,
                   .facts = {.quantizes = true,
                             .f32_inputs = ~0b1u,
                             .elementwise = {append, 2, 3},
                             .trial = {"T[4,4]; T[]; u8[]"}}};

}  // namespace poprt::ops::quantize_linear_op
