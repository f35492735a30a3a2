// Lets a convolution whose input is plain (fewer than 16 channels) compute its result in plain
// layout if only that is needed, instead of a blocked result and an Unblock. Each vector of its
// kernel has pixels of one filter, and not filters of one pixel.
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::conv_plain_result_pass {
namespace {

using ir::Graph;
using ir::Node;

constexpr size_t kResidual = 3;

void fuse(Node& unblock, PassContext& context) {
  if (!unblock.is("Unblock", "poprt")) return;
  const Node* conv = sole_producer_of(unblock.input(0), "Conv", "poprt");
  if (!conv || conv->input(0)->shape().size() != 4 || conv->input(kResidual) || !context.allow())
    return;
  Node* plain = unblock.graph().add_node("Conv", "poprt", conv->inputs(), 1, &unblock);
  plain->name = conv->name;
  plain->attributes = conv->attributes;
  plain->attributes["plain_result"] = int64_t{1};
  ops::infer(*plain);
  replace_node(unblock, plain->output());
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) { fuse(n, context); });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "conv_plain_result",
                     .summary = "lets convolutions of few channels write results in plain layout",
                     .condition = "few input channels, and every reader needs the plain layout",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::conv_plain_result_pass
