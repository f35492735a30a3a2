// poprt.GuardEnd: see poprt.GuardBegin.
#include "ops/op.h"
#include "program/control.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) { ctx.emit(program::kControlEnd, {}); }

}  // namespace

extern const OpDef guard_end_op;
const OpDef guard_end_op = {.name = "GuardEnd", .domain = "poprt", .lower = lower, .pure = false};

}  // namespace poprt::ops
