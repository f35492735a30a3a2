// The type of the result is attribute output_dtype if given, otherwise the type of the scale.
#include "base/onnx_dtype.h"
#include "ir/newest.h"
#include "kernels/calls/dequantize.h"
#include "ops/common/cost.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/quantization.h"

namespace poprt::ops::dequantize_linear_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  DType dtype = ctx.in(1).dtype;
  if (const int64_t number = ctx.node.int_attr("output_dtype", 0)) {
    const auto t = dtype_from_onnx(number);
    if (!t) ctx.fail_unsupported("output_dtype {}", number);
    dtype = *t;
  }
  // Nodes made by the expansion of other operators may have zero points that are not integers.
  if (ctx.node.domain != ir::kNewestDomain) check_zero_point(ctx, 2, 0);
  if (!x.has_shape) return ctx.out_dtype(0, dtype);
  ctx.out(0, ir::ValueType{dtype, true, x.shape, x.symbols});
  check_quantization(ctx);
}

void lower(LowerContext& ctx) {
  const calls::QuantizationGrid grid =
      quantization_grid(ctx.node, ctx.in_shape(0), ctx.in_shape(1), ctx.node.int_attr("axis", 1),
                        ctx.node.int_attr("block_size", 0));
  ctx.emit(calls::Dequantize{grid},
           {ctx.in(0), ctx.in(1), ctx.has(2) ? ctx.in(2) : LowerContext::kNone, ctx.out(0)});
}

ElementwiseValue append(ElementwiseProgram& p, const ir::Node& n,
                        std::span<const ElementwiseValue> in) {
  const ElementwiseValue x = n.input(2) ? p.step(ElementwiseOp::sub, in[0], in[2]) : in[0];
  return p.step(ElementwiseOp::mul, x, in[1]);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "DequantizeLinear",
                   .since = 10,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes_of_quantization,
                   .cost = cost::elementwise,
                   .facts = {.unpacks = true,
                             .f32_inputs = ~0b1u,
                             .elementwise = {append, 2, 3},
                             .trial = {"T[4,4]; f32[]; T[]"}}};

}  // namespace poprt::ops::dequantize_linear_op
