// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::concat_from_sequence_op {

extern const OpDef def;
const OpDef def = {.name = "ConcatFromSequence",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.flow = Flow::concat_from_sequence}};

}  // namespace poprt::ops::concat_from_sequence_op
