#include "passes/common/bypass.h"

namespace poprt::passes {

void bypass_unchanged(ir::Graph& graph, PassContext& context, std::string_view op_type,
                      Unchanged unchanged) {
  for_each_node(graph, [&](ir::Node& n) {
    if (!op_type.empty() && !n.is(op_type)) return;
    ir::Value* by = unchanged(n);
    if (by && can_bypass(n.output(), by) && context.allow()) bypass(n.output(), by);
  });
}

ir::Value* input_of_same_shape(const ir::Node& node) {
  return same_static_shape(node.input(0), node.output()) ? node.input(0) : nullptr;
}

}  // namespace poprt::passes
