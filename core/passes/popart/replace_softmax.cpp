#include "ops/axes.h"
#include "passes/common/build.h"

namespace poprt::passes::replace_softmax_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Softmax") || !n.input(0)->type.is_static() || n.input(0)->shape().empty()) return;
    const Shape& shape = n.input(0)->shape();
    const size_t last = shape.size() - 1;
    const bool over_last = ops::mixed_axes(ops::axis_map(n), 0) == std::vector{last};
    if (over_last && shape.back() % 2 != 0 && context.allow())
      replace_with_graphcore(n, "SoftmaxV2", std::vector<Value*>{n.input(0)},
                             {{"axis", static_cast<int64_t>(last)}});
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_softmax",
                     .summary = "replaces Softmax by ai.graphcore.SoftmaxV2, which is equal here",
                     .condition = "the axis is the last one and its size is odd",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::replace_softmax_pass
