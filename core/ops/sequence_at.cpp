// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::sequence_at_op {

extern const OpDef def;
const OpDef def = {.name = "SequenceAt",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.constant_inputs = 0b10, .flow = Flow::sequence_at}};

}  // namespace poprt::ops::sequence_at_op
