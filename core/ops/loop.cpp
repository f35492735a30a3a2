// The compiler unrolls short loops and loops whose shapes change; the others run as a loop on the
// device. If the condition may end the loop, the number of rows of scan outputs is unknown
// (ops/common/loop.h).
#include "ops/common/loop.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"

namespace poprt::ops::loop_op {
namespace {

void infer(InferContext& ctx) { infer_loop(ctx, false); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Loop",
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

}  // namespace poprt::ops::loop_op
