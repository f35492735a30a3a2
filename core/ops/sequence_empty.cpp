// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::sequence_empty_op {

namespace {

void resolve(ResolveContext& ctx) { ctx.set_output(0, Item::sequence_of({})); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SequenceEmpty",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::sequence_empty_op
