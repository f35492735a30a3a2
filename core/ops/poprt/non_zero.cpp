// poprt.NonZero: NonZero at run time, with room for every element. Columns after the last one
// contain -1.
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/op.h"

namespace poprt::ops::poprt_non_zero_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (x.is_static())
    ctx.out(0, DType::s64, {static_cast<int64_t>(x.shape.size()), element_count(x.shape)});
}

void lower(LowerContext& ctx) { find_op("", "NonZero", 13)->lower(ctx); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "NonZero",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .cost = cost::non_zero,
                   .facts = {.trial = {"T[4,4]"}}};

}  // namespace poprt::ops::poprt_non_zero_op
