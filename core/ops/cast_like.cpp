#include "ops/common/axes.h"
#include "ops/common/cast.h"
#include "ops/common/cost.h"
#include "ops/common/flops.h"

namespace poprt::ops::cast_like_op {
namespace {

void infer(InferContext& ctx) {
  ir::ValueType t = ctx.in(0);
  const DType to = ctx.in(1).dtype;
  if (t.dtype == DType::string || to == DType::string)
    ctx.fail_unsupported("casting from or to string");
  check_round_mode(ctx);
  t.dtype = to;
  ctx.out(0, t);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "CastLike",
                   .since = 15,
                   .infer = infer,
                   .lower = lower_cast,
                   .axes = axes::elementwise,
                   .cost = cost::cast,
                   .facts = {.per_element = true,
                             .type_inputs = 0b10,
                             .cast = CastForm::to_type,
                             .elementwise = {append_cast, 1, 2},
                             .monotone = Monotone::first,
                             .flops = flops::none}};

}  // namespace poprt::ops::cast_like_op
