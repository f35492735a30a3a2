// If: the branch taken, or both for the device. Call: its subgraph, in place.
#include "compiler/flow/specializer.h"

#include <array>

#include "ops/op.h"

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

void Specializer::run_call(const Node& n) {
  const auto callee = subgraph(n, "callee");
  if (callee->outputs().size() != n.outputs().size())
    fail_at(n, ErrorCode::invalid_argument, "its subgraph makes {} values, the node {}",
            callee->outputs().size(), n.outputs().size());
  const Items results = run_body(*callee, items_of(n.inputs()));
  for (size_t i = 0; i < results.size(); i++) give(n, i, results[i]);
}

void Specializer::run_if(const Node& n) {
  const Item condition = settled(item_of(n.input(0)));
  tensor(n, condition, "the condition");
  const auto branches = std::array{subgraph(n, "else_branch"), subgraph(n, "then_branch")};
  for (const auto& b : branches)
    if (b->outputs().size() != n.outputs().size())
      fail_at(n, ErrorCode::invalid_argument, "a branch makes {} values, the node {}",
              b->outputs().size(), n.outputs().size());
  if (const auto known = constant_integer(condition)) {
    const Items results = run_body(*branches[*known != 0], {});
    for (size_t i = 0; i < results.size(); i++) give(n, i, results[i]);
    return;
  }
  scalar_input(n, condition.value, DType::boolean, "the condition");
  // Both branches, each in a graph of its own; sequences as their elements.
  std::shared_ptr<Graph> made[2];
  Items results[2];
  for (size_t b = 0; b < 2; b++) {
    made[b] = std::make_shared<Graph>(branches[b]->name);
    made[b]->parent = target_;
    const Into into(*this, *made[b]);
    results[b] = settled(run_body(*branches[b], {}));
    for (const Item& item : results[b])
      if (item.size) refuse_size(n, item);
    for (const Item& item : results[b])
      for (Value* v : item.parts()) made[b]->add_output(own(v));
  }
  bool same = made[0]->outputs().size() == made[1]->outputs().size();
  for (size_t i = 0; same && i < results[0].size(); i++)
    same = results[0][i].kind == results[1][i].kind &&
           results[0][i].elements.size() == results[1][i].elements.size();
  if (!same)
    fail_at(n, ErrorCode::unimplemented,
            "its branches make containers of different lengths; the condition must be constant");
  const size_t outputs = made[0]->outputs().size();
  for (size_t i = 0; i < outputs; i++) {
    const ir::ValueType &a = made[1]->outputs()[i]->type, &b = made[0]->outputs()[i]->type;
    if (!a.is_static() || a.dtype != b.dtype || a.shape != b.shape)
      fail_at(n, ErrorCode::unimplemented,
              "its branches make {} and {}; both must have one static type, or the condition must "
              "be constant",
              ir::type_string(a), ir::type_string(b));
  }
  Node* node = target_->add_node("If", "", {condition.value}, outputs);
  node->name = n.name.empty() ? n.output()->name() : n.name;
  node->attributes["then_branch"] = made[1];
  node->attributes["else_branch"] = made[0];
  ops::infer(*node);
  size_t o = 0;
  for (size_t i = 0; i < results[0].size(); i++) {
    Item item = results[0][i];
    if (item.kind == Item::Kind::tensor) item = Item::of(node->output(o++));
    for (Value*& v : item.elements) v = node->output(o++);
    give(n, i, std::move(item));
  }
}

}  // namespace poprt::compiler
