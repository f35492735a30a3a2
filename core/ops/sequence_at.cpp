// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops {

extern const OpDef sequence_at_op;
const OpDef sequence_at_op = {.name = "SequenceAt",
                              .since = 11,
                              .infer = infer_nothing,
                              .lower = lower_container,
                              .facts = {.constant_inputs = 0b10, .flow = Flow::sequence_at}};

}  // namespace poprt::ops
