// The compiler resolves this operator because optionals exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::optional_op {

namespace {

void resolve(ResolveContext& ctx) { ctx.set_output(0, ctx.actual(0)); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Optional",
                   .since = 15,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::optional_op
