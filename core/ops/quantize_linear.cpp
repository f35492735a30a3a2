// The result's type: the zero point's, else attribute output_dtype, else u8.
#include "base/onnx_dtype.h"
#include "ops/common/quantization.h"

namespace poprt::ops {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  DType dtype = DType::u8;
  if (const int64_t number = ctx.node.int_attr("output_dtype", 0)) {
    const auto t = dtype_from_onnx(number);
    if (!t) ctx.fail_unsupported("output_dtype {}", number);
    dtype = *t;
  }
  if (ctx.has(2)) {
    const DType zero = ctx.in(2).dtype;
    if (ctx.node.int_attr("output_dtype", 0) && zero != DType::undefined && zero != dtype)
      ctx.fail_input("the zero point is {}, output_dtype says {}", dtype_name(zero),
                     dtype_name(dtype));
    dtype = zero;
  }
  if (!x.has_shape) return ctx.out_dtype(0, dtype);
  ctx.out(0, ir::ValueType{dtype, true, x.shape, x.symbols});
}

void lower(LowerContext& ctx) {
  auto ints = quantization_grid(ctx.node, ctx.in_shape(0), ctx.in_shape(1),
                                ctx.node.int_attr("axis", 1), ctx.node.int_attr("block_size", 0));
  ints.push_back(ctx.node.int_attr("saturate", 1));
  const program::BufferId operands[] = {ctx.in(0), ctx.in(1),
                                        ctx.has(2) ? ctx.in(2) : LowerContext::kNone, ctx.out(0)};
  ctx.emit("quantize", operands, ints);
}

}  // namespace

extern const OpDef quantize_linear_op;
const OpDef quantize_linear_op = {
    .name = "QuantizeLinear", .since = 10, .infer = infer, .lower = lower};

}  // namespace poprt::ops
