#include "passes/common/branches.h"

#include "ops/op.h"
#include "passes/common/constant_cone.h"

namespace poprt::passes {

using ir::Graph;
using ir::Node;
using ir::Value;

std::vector<Value*> inline_graph(Graph& branch, Graph& graph, Node* before) {
  for (Value* v : branch.values())
    if (v->is_constant()) branch.replace_all_uses(v, graph.add_constant(v->name(), v->constant()));
  for (Node* n : branch.nodes()) {
    std::vector<std::string> names;
    for (const Value* v : n->outputs()) names.push_back(v->name());
    Node* moved =
        graph.add_node(n->op_type, n->domain, n->inputs(), n->outputs().size(), before, names);
    moved->name = n->name;
    moved->attributes = std::move(n->attributes);
    n->attributes.clear();
    ir::for_each_subgraph(*moved, [&](Graph& sub) { sub.parent = &graph; });
    for (size_t i = 0; i < n->outputs().size(); i++) {
      moved->output(i)->type = n->output(i)->type;
      branch.replace_all_uses(n->output(i), moved->output(i));
    }
  }
  return branch.outputs();
}

std::shared_ptr<Graph> branch_of(const Node& node, std::string_view attribute) {
  const ir::Attribute* found = node.find_attr(attribute);
  const auto* graph = found ? std::get_if<std::shared_ptr<Graph>>(found) : nullptr;
  return graph ? *graph : nullptr;
}

namespace {

void collect(const Node& node, std::unordered_set<const Value*>& all) {
  for (const Value* v : node.inputs())
    if (v) all.insert(v);
  ir::for_each_subgraph(node, [&](const Graph& sub) {
    for (const Node* n : sub.nodes()) collect(*n, all);
  });
}

}  // namespace

std::unordered_set<const Value*> values_read(const Node& node) {
  std::unordered_set<const Value*> all;
  collect(node, all);
  return all;
}

bool is_pure(const Node& node) {
  const ops::OpDef* op = ops::find_op(node.domain, node.op_type, node.opset());
  return op && op->pure && !op->stateful && !has_subgraphs(node);
}

}  // namespace poprt::passes
