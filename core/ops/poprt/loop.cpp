// poprt.Loop: a Loop that its condition may end, in the form that runs on the device. Scan outputs
// have as many rows as the trip count, which is a bound; a state that the compiler adds counts the
// rows that are produced.
#include "ops/common/loop.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"

namespace poprt::ops::poprt_loop_op {
namespace {

void infer(InferContext& ctx) { infer_loop(ctx, true); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Loop",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower_container,
                   .axes = axes::none,
                   .facts = {.moves = true,
                             .constant_inputs = 0b11,
                             .s64_inputs = 0b1,
                             .passes_types = true,
                             .runs_rounds = true,
                             .repeats = loop_repeats},
                   .resolve = resolve_loop};

}  // namespace poprt::ops::poprt_loop_op
