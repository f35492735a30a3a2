#include <array>

#include "kernels/calls/dynamic_quantize.h"
#include "ops/bound.h"
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

// The range of numbers always contains 0, so zeros do not change it.
BoundResult bound(BoundContext& ctx) {
  Item& x = ctx.in[0];
  if (!x.size) return {};
  x.value = ctx.zero_filled(x);
  BoundResult result;
  for (ir::Value* v : ctx.build.make(ctx.node.op_type, ctx.node.domain, std::array{x.value}, {}, 3))
    result.results.push_back(Item::of(v));
  result.results[0].sized(x.size, x.axis);
  return result;
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
                   .facts = {.quantizes = true, .trial = {"T[4,4]", "", 3}},
                   .bound = bound};

}  // namespace poprt::ops::dynamic_quantize_linear_op
