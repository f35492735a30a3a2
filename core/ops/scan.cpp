// Becomes Loop (compiler/flow/specialize.h).
#include "ops/op.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  ctx.fail_unsupported("a scan must be taken apart by the compiler first");
}

}  // namespace

extern const OpDef scan_op;
const OpDef scan_op = {.name = "Scan", .since = 8, .lower = lower};

}  // namespace poprt::ops
