// Reinterprets the bytes as another type of the same width.
#include "base/onnx_dtype.h"
#include "kernels/calls/copy.h"
#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::ops::bit_cast_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const auto to = dtype_from_onnx(ctx.node.int_attr("to", 0));
  if (!to || *to == DType::string) ctx.fail_unsupported("to = {}", ctx.node.int_attr("to", 0));
  if (x.dtype != DType::undefined && dtype_bits(x.dtype) != dtype_bits(*to))
    ctx.fail_input("{} and {} have different widths", dtype_name(x.dtype), dtype_name(*to));
  ctx.out(0, ir::ValueType{*to, x.has_shape, x.shape, x.symbols});
}

void lower(LowerContext& ctx) {
  ctx.emit(calls::Copy{}, {ctx.view(ctx.in(0), 0, ctx.out_dtype(), ctx.out_shape()), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "BitCast",
    .since = 26,
    .infer = infer,
    .lower = lower,
    .axes = axes::elementwise,
    .sharing = {.view = true},
    .facts = {.per_element = true,
              .trial = {"T[4,4]", "to = 1 | to = 2 | to = 4 | to = 13 | to = 21 | to = 25"}}};

}  // namespace poprt::ops::bit_cast_op
