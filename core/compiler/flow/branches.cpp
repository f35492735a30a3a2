// If: the branch taken, or both for the device. Call: its subgraph, in place.
#include "compiler/flow/specializer.h"

#include <algorithm>
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
  const Item condition = actual_of(item_of(n.input(0)));
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
  Branch made[2];
  for (size_t b = 0; b < 2; b++) {
    made[b].graph = std::make_shared<Graph>(branches[b]->name);
    made[b].graph->parent = target_;
    const Into into(*this, *made[b].graph);
    made[b].results = actual_of(run_body(*branches[b], {}));
  }
  join_branches(n, condition.value, made[1], made[0]);
}

// The axis along which two results are of different lengths, or of one that depends on data. None
// when they have one static type, or more is different.
std::optional<size_t> Specializer::uneven_axis(const Item& a, const Item& b) {
  if (a.kind != Item::Kind::tensor || b.kind != Item::Kind::tensor) return std::nullopt;
  const ir::ValueType &x = a.value->type, &y = b.value->type;
  if (!x.is_static() || !y.is_static() || x.dtype != y.dtype || x.shape.size() != y.shape.size())
    return std::nullopt;
  std::optional<size_t> axis;
  if (a.size) axis = a.axis;
  if (b.size && axis.value_or(b.axis) != b.axis) return std::nullopt;
  if (b.size) axis = b.axis;
  for (size_t d = 0; d < x.shape.size(); d++) {
    if (x.shape[d] == y.shape[d]) continue;
    if (axis.value_or(d) != d) return std::nullopt;
    axis = d;
  }
  return axis;
}

// What is empty, in one more way than another result is empty or short, is as empty in that one's
// other sizes: exporters hand dummies back from the branch that does not compute a cache
// (f32[0,4,1,16] beside f32[1,4,12,16]).
std::optional<Item> Specializer::empty_like(const Item& a, const Item& b) {
  if (a.kind != Item::Kind::tensor || b.kind != Item::Kind::tensor || a.size) return std::nullopt;
  const ir::ValueType &x = a.value->type, &y = b.value->type;
  if (!x.is_static() || !y.is_static() || x.dtype != y.dtype || x.shape.size() != y.shape.size())
    return std::nullopt;
  const auto none = std::find(x.shape.begin(), x.shape.end(), 0);
  if (none == x.shape.end()) return std::nullopt;
  Shape shape = y.shape;
  shape[static_cast<size_t>(none - x.shape.begin())] = 0;
  return Item::of(constant(Tensor::zeros(x.dtype, shape)));
}

// A result with zeros up to the bound of both branches, and how much of it is real.
Specializer::Items Specializer::bounded(const Item& item, size_t axis, int64_t bound) {
  Shape rest = item.value->shape();
  const int64_t length = rest[axis];
  rest[axis] = bound - length;
  Value* v = item.value;
  if (rest[axis] > 0)
    v = make1("Concat", {v, constant(Tensor::zeros(v->dtype(), rest))},
              {{"axis", static_cast<int64_t>(axis)}});
  return {Item::of(v), Item::of(item.size ? item.size : integer(length))};
}

void Specializer::join_branches(const Node& n, Value* condition, Branch& yes, Branch& no) {
  Branch* const both[] = {&yes, &no};
  // How results were joined: the axis whose length is a result of its own.
  std::vector<std::optional<size_t>> uneven;
  for (size_t i = 0; i < yes.results.size(); i++) {
    Item &a = yes.results[i], &b = no.results[i];
    if (a.kind != b.kind || a.elements.size() != b.elements.size())
      fail_at(n, ErrorCode::unimplemented,
              "its branches make containers of different lengths; the condition must be constant");
    // A model that is only converted keeps sizes unknown until it is compiled.
    uneven.push_back(options_.keep_onnx ? std::nullopt : uneven_axis(a, b));
    if (!uneven[i] && !options_.keep_onnx) {
      a = empty_like(a, b).value_or(a);
      b = empty_like(b, a).value_or(b);
      uneven[i] = uneven_axis(a, b);
    }
    const int64_t bound =
        uneven[i] ? std::max(a.value->shape()[*uneven[i]], b.value->shape()[*uneven[i]]) : 0;
    for (Branch* branch : both) {
      const Into into(*this, *branch->graph);
      const Item& item = branch->results[i];
      if (!uneven[i] && item.size) refuse_size(n, item);
      Items parts = {item};
      if (uneven[i]) parts = bounded(item, *uneven[i], bound);
      for (const Item& part : parts)
        for (Value* v : part.parts()) branch->graph->add_output(own(v));
    }
  }
  const std::vector<Value*>&a = yes.graph->outputs(), &b = no.graph->outputs();
  for (size_t i = 0; i < a.size(); i++) {
    if (options_.keep_onnx && a[i]->dtype() == b[i]->dtype()) continue;
    if (!a[i]->type.is_static() || a[i]->dtype() != b[i]->dtype() || a[i]->shape() != b[i]->shape())
      fail_at(
          n, ErrorCode::unimplemented,
          "its branches make {} and {}; they must have one type and differ in one axis at most, "
          "or the condition must be constant",
          ir::type_string(a[i]->type), ir::type_string(b[i]->type));
  }
  Node* node = target_->add_node("If", "", {condition}, a.size());
  node->name = n.name.empty() ? n.output()->name() : n.name;
  node->attributes["then_branch"] = yes.graph;
  node->attributes["else_branch"] = no.graph;
  ops::infer(*node);
  size_t o = 0;
  for (size_t i = 0; i < yes.results.size(); i++) {
    Item item = yes.results[i];
    if (item.kind == Item::Kind::tensor) item = Item::of(node->output(o++));
    for (Value*& v : item.elements) v = node->output(o++);
    if (uneven[i]) item.sized(node->output(o++), *uneven[i]);
    give(n, i, std::move(item));
  }
}

}  // namespace poprt::compiler
