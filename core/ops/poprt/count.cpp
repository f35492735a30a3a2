// poprt.Count (x): the number of elements that are not 0, as an s64 scalar.
#include "kernels/calls/count.h"
#include "ops/common/as_f32.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::poprt_count_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, DType::s64, {}); }

void lower(LowerContext& ctx) {
  const DType t = ctx.in_dtype(0);
  const bool narrow = is_float(t) && t != DType::f32 && t != DType::f64;
  ctx.emit(calls::Count{}, {narrow ? in_as_f32(ctx, 0) : ctx.in(0), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Count",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .cost = cost::sum};

}  // namespace poprt::ops::poprt_count_op
