// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/sequences.h"

namespace poprt::ops::sequence_at_op {

namespace {

void resolve(ResolveContext& ctx) {
  if (ctx.reads_kept(0)) return ctx.keep(ctx.in[0].element);
  const Item& sequence = ctx.counted_sequence(0);
  const Items& elements = sequence.elements;
  if (needs_position(ctx, elements, ctx.actual(1))) return ctx.keep(element_type(elements));
  ctx.set_output(0, sequence.size ? counted_element(ctx, sequence, ctx.actual(1))
                                  : sequence_element(ctx, elements, ctx.actual(1)));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SequenceAt",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .facts = {.constant_inputs = 0b10},
                   .resolve = resolve};

}  // namespace poprt::ops::sequence_at_op
