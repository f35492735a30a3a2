// A subgraph (attribute callee) on the inputs, in its place.
#include "ops/common/compile_time.h"

namespace poprt::ops {

extern const OpDef graphcore_call_op;
const OpDef graphcore_call_op = {.name = "Call",
                                 .domain = "ai.graphcore",
                                 .infer = infer_nothing,
                                 .lower = lower_container,
                                 .facts = {.flow = Flow::call}};

}  // namespace poprt::ops
