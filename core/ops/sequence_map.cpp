// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::sequence_map_op {

namespace {

void resolve(ResolveContext& ctx) {
  const ir::Node& n = ctx.node;
  const auto body = subgraph(n, "body");
  const Items in = ctx.actual();
  const size_t length = ctx.sequence(0).size();
  for (size_t i = 1; i < in.size(); i++)
    if (in[i].kind == Item::Kind::sequence) ctx.sequence(i);
  std::vector<Items> made(n.outputs().size());
  for (size_t k = 0; k < length; k++) {
    Items inputs;
    for (const Item& item : in) {
      if (item.kind == Item::Kind::sequence && item.elements.size() != length)
        ctx.fail_at(ErrorCode::invalid_argument, "sequences of {} and {} elements", length,
                    item.elements.size());
      inputs.push_back(item.kind == Item::Kind::sequence ? item.elements[k] : item);
    }
    const Items results = ctx.run_body(*body, inputs);
    for (size_t i = 0; i < made.size() && i < results.size(); i++) {
      made[i].push_back(actual_of(results[i]));
      ctx.check_tensor(made[i].back(), "a result");
    }
  }
  for (size_t i = 0; i < made.size(); i++) ctx.set_output(i, Item::sequence_of(std::move(made[i])));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SequenceMap",
                   .since = 17,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::sequence_map_op
