// poprt.GuardEnd: ends the region of the matching poprt.GuardBegin.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "program/control.h"

namespace poprt::ops::poprt_guard_end_op {
namespace {

void lower(LowerContext& ctx) { ctx.emit(program::ControlEnd{}, {}); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "GuardEnd",
                   .domain = "poprt",
                   .infer = infer_nothing,
                   .lower = lower,
                   .axes = axes::none,
                   .pure = false};

}  // namespace poprt::ops::poprt_guard_end_op
