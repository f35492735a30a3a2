// A subgraph (attribute callee) on the inputs, in its place.
#include "ops/common/compile_time.h"

namespace poprt::ops::graphcore_call_op {

extern const OpDef def;
const OpDef def = {.name = "Call",
                   .domain = "ai.graphcore",
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.flow = Flow::call}};

}  // namespace poprt::ops::graphcore_call_op
