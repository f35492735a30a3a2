#include "passes/common/constant_cone.h"

#include <algorithm>
#include <unordered_set>

#include "base/checked.h"
#include "ops/common/evaluate.h"
#include "ops/common/expansion.h"

namespace poprt::passes {
namespace {

using ir::Node;
using ir::Value;

// Computes one node from the values of its inputs.
std::vector<Tensor> evaluate_node(const Node& n, const std::vector<Tensor>& inputs) {
  const auto alone = ops::isolate(n);
  Node* copy = alone->nodes().front();
  for (size_t i = 0; i < inputs.size(); i++)
    if (Value* v = copy->input(i); v && !v->is_constant())
      copy->set_input(i, alone->add_constant("", inputs[i]));
  for (size_t i = 0; i < n.outputs().size(); i++) copy->output(i)->type = n.output(i)->type;
  return ops::evaluate(*copy, inputs);
}

}  // namespace

bool has_subgraphs(const Node& n) {
  bool any = false;
  ir::for_each_subgraph(n, [&](const ir::Graph&) { any = true; });
  return any;
}

bool can_be_computed(const Node& n, uint64_t largest) {
  const ops::OpDef* op = ops::find_op(n.domain, n.op_type, n.opset());
  if (!op || !op->pure || !op->lower || has_subgraphs(n)) return false;
  return std::all_of(n.outputs().begin(), n.outputs().end(), [&](const Value* v) {
    return v->type.is_static() && v->dtype() != DType::string &&
           dtype_bytes(v->dtype(), element_count(v->shape())) <= largest;
  });
}

bool can_be_constant(const Node& n, uint64_t largest) {
  return can_be_computed(n, largest) &&
         (!ops::facts_of(n).unpacks || bytes_made(n) <= sizeof(float));
}

ConstantCones::ConstantCones(const ir::Graph& graph, uint64_t largest) {
  for (Node* n : graph.nodes()) {
    const bool fed = std::all_of(n->inputs().begin(), n->inputs().end(), [&](const Value* v) {
      return !v || (v->is_constant() && v->dtype() != DType::string) ||
             (v->producer() && contains(v->producer()));
    });
    if (!fed || !can_be_constant(*n, largest)) continue;
    position_[n] = nodes_.size();
    nodes_.push_back(n);
  }
}

std::vector<Node*> ConstantCones::of(Node* node) const {
  std::unordered_set<const Node*> seen{node};
  std::vector<Node*> cone{node};
  for (size_t next = 0; next < cone.size(); next++)
    for (const Value* v : cone[next]->inputs())
      if (v && v->producer() && seen.insert(v->producer()).second) cone.push_back(v->producer());
  std::sort(cone.begin(), cone.end(),
            [&](const Node* a, const Node* b) { return position_.at(a) < position_.at(b); });
  return cone;
}

uint64_t bytes_made(const Node& node) {
  uint64_t bytes = 0;
  for (const Value* v : node.outputs())
    bytes = checked_add(bytes, dtype_bytes(v->dtype(), element_count(v->shape())));
  return bytes;
}

uint64_t bytes_read(const std::vector<Node*>& cone) {
  std::unordered_set<const Value*> seen;
  uint64_t bytes = 0;
  for (const Node* n : cone)
    for (const Value* v : n->inputs())
      if (v && v->is_constant() && seen.insert(v).second)
        bytes = checked_add(bytes, v->constant().bytes());
  return bytes;
}

double work_of(const std::vector<Node*>& cone) {
  double work = 0;
  try {
    for (const Node* n : cone) work += ops::work_of(*n);
  } catch (const Error&) {
    return 0;  // some nodes can only be lowered if their inputs are constants
  }
  return work;
}

std::vector<Tensor> evaluate(const std::vector<Node*>& cone,
                             std::unordered_map<const Value*, Tensor> known) {
  std::unordered_map<const Value*, size_t> readers;
  for (const Node* n : cone)
    for (const Value* v : n->inputs()) readers[v]++;
  for (const Node* n : cone) {
    std::vector<Tensor> inputs;
    for (const Value* v : n->inputs())
      inputs.push_back(!v ? Tensor() : v->is_constant() ? v->constant() : known.at(v));
    std::vector<Tensor> results = evaluate_node(*n, inputs);
    if (n == cone.back()) return results;
    for (size_t i = 0; i < results.size(); i++) known[n->output(i)] = std::move(results[i]);
    for (const Value* v : n->inputs())
      if (--readers[v] == 0) known.erase(v);
  }
  return {};
}

Tensor known_value(const Value* value, uint64_t largest) {
  if (value->is_constant()) return value->constant();
  if (!value->producer()) return {};
  std::unordered_map<const Node*, size_t> order;
  for (const Node* n : value->graph().nodes()) order.emplace(n, order.size());
  std::vector<Node*> cone{value->producer()};
  std::unordered_set<const Node*> seen{value->producer()};
  for (size_t i = 0; i < cone.size(); i++) {
    if (!can_be_computed(*cone[i], largest) || !order.contains(cone[i])) return {};
    for (const Value* v : cone[i]->inputs()) {
      if (!v || v->is_constant()) continue;
      if (!v->producer()) return {};
      if (seen.insert(v->producer()).second) cone.push_back(v->producer());
    }
  }
  std::ranges::sort(cone, {}, [&](const Node* n) { return order.at(n); });
  const auto outputs = value->producer()->outputs();
  const auto which = static_cast<size_t>(std::ranges::find(outputs, value) - outputs.begin());
  return evaluate(cone)[which];
}

}  // namespace poprt::passes
