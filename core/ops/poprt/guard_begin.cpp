// poprt.GuardBegin (condition) {when}: the nodes up to the matching poprt.GuardEnd run if the
// condition equals `when`. The compiler creates it to flatten If. Only poprt.Select reads the
// values that these nodes produce.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "program/control.h"

namespace poprt::ops::poprt_guard_begin_op {
namespace {

void lower(LowerContext& ctx) {
  ctx.emit(program::ControlIf{.when = ctx.node.int_attr("when", 1) != 0}, {ctx.in(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "GuardBegin",
                   .domain = "poprt",
                   .infer = infer_nothing,
                   .lower = lower,
                   .axes = axes::none,
                   .pure = false};

}  // namespace poprt::ops::poprt_guard_begin_op
