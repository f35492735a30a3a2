// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::sequence_map_op {

extern const OpDef def;
const OpDef def = {.name = "SequenceMap",
                   .since = 17,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .facts = {.flow = Flow::sequence_map}};

}  // namespace poprt::ops::sequence_map_op
