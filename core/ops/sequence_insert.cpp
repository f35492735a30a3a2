// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/sequences.h"

namespace poprt::ops::sequence_insert_op {

namespace {

void resolve(ResolveContext& ctx) {
  const Item element = ctx.actual(1);
  ctx.check_tensor(element, "the element");
  const ir::ValueType& type = element.value->type;
  if (ctx.reads_kept(0)) return ctx.keep_sequence(common_type(ctx.in[0].element, type));
  Items elements = ctx.sequence(0);
  elements.push_back(element);
  if (needs_position(ctx, elements, ctx.actual(2)))
    return ctx.keep_sequence(element_type(elements));
  ctx.set_output(0, sequence_inserted(ctx, ctx.sequence(0), element, ctx.actual(2)));
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
