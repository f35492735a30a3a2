// The length of the result depends on the values. It is exact for a constant input. Otherwise
// bound() replaces the node by poprt.NonZero, which has a column for every element of the input.
#include "kernels/calls/non_zero.h"
#include "ops/bound.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::non_zero_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  const int64_t rank = in.has_shape ? static_cast<int64_t>(in.shape.size()) : kUnknownDim;
  const Tensor* t = ctx.constant(0);
  if (!t) return ctx.out(0, DType::s64, {rank, kUnknownDim});
  int64_t count = 0;
  for (const double v : t->to_doubles()) count += v != 0;
  ctx.out(0, DType::s64, {rank, count});
}

void lower(LowerContext& ctx) {
  const DType t = ctx.in_dtype(0);
  const bool narrow = is_float(t) && t != DType::f32 && t != DType::f64;
  const Shape& x = ctx.in_shape(0);
  ctx.emit(calls::NonZero{.bound = ctx.out_shape()[1], .dims = {x.begin(), x.end()}},
           {narrow ? in_as_f32(ctx, 0) : ctx.in(0), ctx.out(0)});
}

BoundResult bound(BoundContext& ctx) {
  Item& x = ctx.in[0];
  if (x.size) x.value = ctx.zero_filled(x);
  if (x.value->is_constant() || x.value->shape().empty()) return {};
  ir::Value* size = ctx.build.find_or_make("Count", "poprt", {x.value});
  Item at = Item::of(ctx.build.find_or_make("NonZero", "poprt", {x.value}));
  at.sized(size, 1);
  return {.results = {at}};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "NonZero",
                   .since = 9,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .cost = cost::non_zero,
                   .facts = {.data_sized = true, .trial = {"T[4,4]"}},
                   .bound = bound};

}  // namespace poprt::ops::non_zero_op
