// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::split_to_sequence_op {

extern const OpDef def;
const OpDef def = {.name = "SplitToSequence",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.constant_inputs = 0b10, .flow = Flow::split_to_sequence}};

}  // namespace poprt::ops::split_to_sequence_op
