// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::optional_op {

extern const OpDef def;
const OpDef def = {.name = "Optional",
                   .since = 15,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.flow = Flow::optional}};

}  // namespace poprt::ops::optional_op
