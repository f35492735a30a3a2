#include "passes/common/build.h"

namespace poprt::passes::fill_squeeze_axes_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Squeeze") || n.find_attr("axes") || n.input(1) || !n.input(0)->type.is_static())
      return;
    std::vector<int64_t> axes;
    const Shape& shape = n.input(0)->shape();
    for (size_t i = 0; i < shape.size(); i++)
      if (shape[i] == 1) axes.push_back(static_cast<int64_t>(i));
    if (axes.empty() || !context.allow()) return;
    constexpr int64_t kAxesInput = 13;
    if (n.opset() < kAxesInput)
      n.attributes["axes"] = axes;
    else
      n.set_input(1, add_ints(n.graph(), n.output()->name() + "_axes", axes));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "fill_squeeze_axes",
                     .summary = "adds the axes to a Squeeze that has none",
                     .condition = "the shape is static; this runtime does not need the axes",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::fill_squeeze_axes_pass
