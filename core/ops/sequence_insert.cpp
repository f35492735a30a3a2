// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::sequence_insert_op {

extern const OpDef def;
const OpDef def = {.name = "SequenceInsert",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.constant_inputs = 0b100, .flow = Flow::sequence_insert}};

}  // namespace poprt::ops::sequence_insert_op
