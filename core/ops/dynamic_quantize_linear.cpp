#include "kernels/calls/dynamic_quantize.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/op.h"

namespace poprt::ops::dynamic_quantize_linear_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  ctx.out(0, ir::ValueType{DType::u8, x.has_shape, x.shape, x.symbols});
  ctx.out(1, DType::f32, {});
  ctx.out(2, DType::u8, {});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "DynamicQuantizeLinear",
                   .since = 11,
                   .infer = infer,
                   .lower =
                       [](LowerContext& c) {
                         c.emit(calls::DynamicQuantize{}, {c.in(0), c.out(0), c.out(1), c.out(2)});
                       },
                   .axes = axes::none,
                   .cost = cost::dynamic_quantize,
                   .facts = {.quantizes = true, .trial = {"T[4,4]", "", 3}}};

}  // namespace poprt::ops::dynamic_quantize_linear_op
