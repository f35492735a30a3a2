// The compiler replaces the node by the nodes of its subgraph (attribute callee).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::graphcore_call_op {

namespace {

void resolve(ResolveContext& ctx) {
  const ir::Node& n = ctx.node;
  const auto callee = subgraph(n, "callee");
  if (callee->outputs().size() != n.outputs().size())
    ctx.fail_at(ErrorCode::invalid_argument, "the subgraph has {} outputs, the node {}",
                callee->outputs().size(), n.outputs().size());
  const Items results = ctx.run_body(*callee, ctx.in);
  for (size_t i = 0; i < results.size(); i++) ctx.set_output(i, results[i]);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Call",
                   .domain = "ai.graphcore",
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::graphcore_call_op
