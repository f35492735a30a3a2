// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops {

extern const OpDef optional_get_element_op;
const OpDef optional_get_element_op = {.name = "OptionalGetElement",
                                       .since = 15,
                                       .infer = infer_nothing,
                                       .lower = lower_container,
                                       .facts = {.flow = Flow::optional_get_element}};

}  // namespace poprt::ops
