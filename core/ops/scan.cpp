// Becomes Loop (compiler/flow/specialize.h).
#include "ops/common/compile_time.h"

namespace poprt::ops {

extern const OpDef scan_op;
const OpDef scan_op = {
    .name = "Scan", .since = 8, .infer = infer_nothing, .lower = lower_container};

}  // namespace poprt::ops
