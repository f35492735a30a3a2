#include "passes/common/strict_comparison.h"

namespace poprt::passes {

using ir::Node;
using ir::Value;

void replace_or_equal(ir::Graph& graph, PassContext& context, std::string_view op_type,
                      std::string_view strict, std::string_view opposite) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is(op_type) || !context.allow()) return;
    Value *a = n.input(0), *b = n.input(1);
    Value* result =
        is_integer(a->dtype())
            ? computed(n, "Not", {computed(n, opposite, {a, b})})
            : computed(n, "Or", {computed(n, strict, {a, b}), computed(n, "Equal", {a, b})});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace poprt::passes
