// Resolved by the compiler: containers exist at compile time only.
#include "ops/common/compile_time.h"

namespace poprt::ops::sequence_length_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, DType::s64, {}); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SequenceLength",
                   .since = 11,
                   .infer = infer,
                   .lower = lower_container,
                   .facts = {.flow = Flow::sequence_length}};

}  // namespace poprt::ops::sequence_length_op
