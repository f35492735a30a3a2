// poprt.Select (condition, a, b): selects tensor a or b by one bool, without reading the other one.
#include "kernels/calls/select.h"
#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::ops::poprt_select_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, ctx.in(1)); }

void lower(LowerContext& ctx) {
  ctx.emit(calls::Select{}, {ctx.in(0), ctx.in(1), ctx.in(2), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Select",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::elementwise,
                   .facts = {.trial = {"bool[]; T[4,4]; T[4,4]"}}};

}  // namespace poprt::ops::poprt_select_op
