// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/sequences.h"

namespace poprt::ops::sequence_insert_op {

namespace {

void resolve(ResolveContext& ctx) {
  const Elements elements = ctx.sequence(0);
  ir::Value* element = ctx.tensor(ctx.actual(1), "the element");
  ctx.set_output(0, sequence_inserted(ctx, elements, element, ctx.actual(2)));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SequenceInsert",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .facts = {.constant_inputs = 0b100},
                   .resolve = resolve};

}  // namespace poprt::ops::sequence_insert_op
