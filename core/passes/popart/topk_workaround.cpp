#include "passes/common/build.h"

namespace poprt::passes::topk_workaround_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Attribute `axis` is read because the axis map does not show whether it is negative. In addition,
// the map states nothing if K is computed, because the size of the result is then unknown.
void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("TopK") || !n.input(0)->type.has_shape || n.int_attr("axis", -1) >= 0) return;
    if (context.allow())
      n.attributes["axis"] =
          normalize_axis(n.int_attr("axis", -1), static_cast<int64_t>(n.input(0)->shape().size()));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "topk_workaround",
                     .summary = "gives TopK a nonnegative axis",
                     .condition = "the rank is known",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::topk_workaround_pass
