#include <algorithm>
#include <memory>

#include "passes/common/branches.h"

namespace poprt::passes::eliminate_nop_if_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("If")) return;
    const auto condition = const_scalar(n.input(0));
    if (!condition) return;
    const ir::Attribute* branch = n.find_attr(*condition != 0 ? "then_branch" : "else_branch");
    const auto* sub = branch ? std::get_if<std::shared_ptr<Graph>>(branch) : nullptr;
    if (!sub || (*sub)->outputs().size() != n.outputs().size() || !context.allow()) return;
    const std::shared_ptr<Graph> keep = *sub;
    const std::vector<Value*> results = inline_graph(*keep, n.graph(), &n);
    std::vector<Value*> distinct;
    for (size_t i = 0; i < results.size(); i++) {
      Value *old = n.output(i), *by = results[i];
      // A graph output needs its own node, unless the branch returns the result of a node of this
      // graph that is no other output.
      const bool taken = std::find(distinct.begin(), distinct.end(), by) != distinct.end();
      if (n.graph().is_output(old) &&
          (!by->producer() || &by->graph() != &n.graph() || taken || n.graph().is_output(by)))
        by = insert_node(n, "Identity", "", {by})->output();
      distinct.push_back(by);
      n.graph().replace_all_uses(old, by);
    }
    erase_if_dead(&n);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_if",
                     .summary = "replaces If with a constant condition by the branch that it takes",
                     .condition = "the condition is constant",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_if_pass
