// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::sequence_erase_op {

extern const OpDef def;
const OpDef def = {.name = "SequenceErase",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.constant_inputs = 0b10, .flow = Flow::sequence_erase}};

}  // namespace poprt::ops::sequence_erase_op
