// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::sequence_empty_op {

extern const OpDef def;
const OpDef def = {.name = "SequenceEmpty",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.flow = Flow::sequence_empty}};

}  // namespace poprt::ops::sequence_empty_op
