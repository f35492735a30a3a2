// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::concat_from_sequence_op {

namespace {

void resolve(ResolveContext& ctx) {
  const ir::Node& n = ctx.node;
  const Items in = ctx.actual();
  if (in.empty() || in[0].kind != Item::Kind::sequence || in[0].elements.empty())
    ctx.fail_at(ErrorCode::invalid_argument, "input 0 should be a sequence with elements");
  for (const ir::Value* v : in[0].elements)
    ctx.static_tensor(Item::of(const_cast<ir::Value*>(v)), "an element");
  const auto rank = static_cast<int64_t>(in[0].elements[0]->shape().size());
  const bool fresh = n.int_attr("new_axis", 0) != 0;
  const int64_t axis = normalize_axis(n.int_attr("axis", 0), rank + fresh);
  if (fresh) return ctx.set_output(0, Item::of(ctx.build.stack(in[0].elements, axis)));
  ctx.set_output(0, Item::of(ctx.build.make("Concat", "", in[0].elements, {{"axis", axis}})[0]));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ConcatFromSequence",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::concat_from_sequence_op
