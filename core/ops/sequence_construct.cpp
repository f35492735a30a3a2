// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/sequences.h"

namespace poprt::ops::sequence_construct_op {

namespace {

void resolve(ResolveContext& ctx) {
  const Items elements = ctx.actual();
  for (const Item& item : elements) ctx.check_tensor(item, "an element");
  ctx.set_output(0, Item::sequence_of(elements));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SequenceConstruct",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::sequence_construct_op
