// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops {

extern const OpDef optional_op;
const OpDef optional_op = {.name = "Optional",
                           .since = 15,
                           .infer = infer_nothing,
                           .lower = lower_container,
                           .facts = {.flow = Flow::optional}};

}  // namespace poprt::ops
