// Computed by the compiler from constants (ops/common/strings.h).
#include "ops/op.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  ctx.fail_unsupported("strings are computed by the compiler, so its inputs must be constant");
}

}  // namespace

extern const OpDef regex_full_match_op;
const OpDef regex_full_match_op = {.name = "RegexFullMatch", .since = 20, .lower = lower};

}  // namespace poprt::ops
