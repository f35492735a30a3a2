// Handles an If whose condition is known only at run time: converts both branches so that their
// results have one type.
#include "compiler/flow/specializer.h"

#include <algorithm>
#include <array>

#include "ops/op.h"

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

void Specializer::run_branches(Resolver& node, Value* condition, const Graph& yes,
                               const Graph& no) {
  // Each branch is a separate graph. Sequences become their elements.
  const Graph* const bodies[] = {&no, &yes};
  Branch made[2];
  for (size_t b = 0; b < 2; b++) {
    made[b].graph = std::make_shared<Graph>(bodies[b]->name);
    made[b].graph->parent = &build_.target();
    const ops::FoldingBuilder::Into into(build_, *made[b].graph);
    made[b].results = ops::actual_of(run_body(*bodies[b], {}));
  }
  join_branches(node, condition, made[1], made[0]);
}

// Returns the axis along which the lengths of two results differ or depend on data. Returns nothing
// if they have one static type, or if they differ in another way.
std::optional<size_t> Specializer::uneven_axis(const Item& a, const Item& b) {
  if (a.kind != Item::Kind::tensor || b.kind != Item::Kind::tensor || a.twin || b.twin)
    return std::nullopt;
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

// If `a` is empty along an axis, returns an empty result with the other sizes of `b`. Exporters
// return such placeholders from the branch that does not compute a cache (f32[0,4,1,16] for
// f32[1,4,12,16]).
std::optional<Item> Specializer::empty_like(const Item& a, const Item& b) {
  if (a.kind != Item::Kind::tensor || b.kind != Item::Kind::tensor || a.size) return std::nullopt;
  const ir::ValueType &x = a.value->type, &y = b.value->type;
  if (!x.is_static() || !y.is_static() || x.dtype != y.dtype || x.shape.size() != y.shape.size())
    return std::nullopt;
  const auto none = std::find(x.shape.begin(), x.shape.end(), 0);
  if (none == x.shape.end()) return std::nullopt;
  Shape shape = y.shape;
  shape[static_cast<size_t>(none - x.shape.begin())] = 0;
  return Item::of(build_.constant(Tensor::zeros(x.dtype, shape)));
}

// Pads a result with zeros up to the bound of both branches. Returns the padded result and its real
// length.
Items Specializer::padded_to_bound(const Item& item, size_t axis, int64_t bound) {
  Shape rest = item.value->shape();
  const int64_t length = rest[axis];
  rest[axis] = bound - length;
  Value* v = item.value;
  if (rest[axis] > 0)
    v = build_.make1("Concat", {v, build_.constant(Tensor::zeros(v->dtype(), rest))},
                     {{"axis", static_cast<int64_t>(axis)}});
  return {Item::of(v), Item::of(item.size ? item.size : build_.integer(length))};
}

void Specializer::join_branches(Resolver& node, Value* condition, Branch& yes, Branch& no) {
  Branch* const both[] = {&yes, &no};
  // For each result, the axis whose length is a separate result.
  std::vector<std::optional<size_t>> uneven;
  std::vector<std::optional<ops::SizeRange>> ranges;  // for numbers computed from sizes
  for (size_t i = 0; i < yes.results.size(); i++) {
    Item &a = yes.results[i], &b = no.results[i];
    const bool counted = a.kind == Item::Kind::sequence && (a.size || b.size);
    if (a.kind != b.kind || a.elements.size() != b.elements.size() || counted ||
        a.is_kept_sequence() || b.is_kept_sequence())
      node.fail_at(
          ErrorCode::unimplemented,
          "its branches return containers of different lengths; the condition must be constant");
    // A model that is only converted keeps the size unknown until it is compiled.
    uneven.push_back(options_.keep_onnx ? std::nullopt : uneven_axis(a, b));
    // The placeholder gets other sizes, which a reader in the model would see. So it is replaced
    // only if the output has no reader.
    if (!uneven[i] && !options_.keep_onnx && node.node.output(i)->uses().empty()) {
      a = empty_like(a, b).value_or(a);
      b = empty_like(b, a).value_or(b);
      uneven[i] = uneven_axis(a, b);
    }
    ranges.push_back(uneven[i] || options_.keep_onnx ? std::nullopt : either(a.value, b.value));
    const int64_t bound =
        uneven[i] ? std::max(a.value->shape()[*uneven[i]], b.value->shape()[*uneven[i]]) : 0;
    for (Branch* branch : both) {
      const ops::FoldingBuilder::Into into(build_, *branch->graph);
      const Item& item = branch->results[i];
      if (!uneven[i] && item.size) ops::BoundContext(node.node, {}, build_).refuse_size(item);
      for (const Item& element : item.elements)
        if (element.size) ops::BoundContext(node.node, {}, build_).refuse_size(element);
      Items parts = {item};
      if (uneven[i]) parts = padded_to_bound(item, *uneven[i], bound);
      for (const Item& part : parts)
        for (Value* v : part.parts()) branch->graph->add_output(build_.as_output(v));
    }
  }
  const std::vector<Value*>&a = yes.graph->outputs(), &b = no.graph->outputs();
  for (size_t i = 0; i < a.size(); i++) {
    if (options_.keep_onnx && a[i]->dtype() == b[i]->dtype()) continue;
    if (!a[i]->type.is_static() || a[i]->dtype() != b[i]->dtype() || a[i]->shape() != b[i]->shape())
      node.fail_at(ErrorCode::unimplemented,
                   "its branches return {} and {}; they must have one type and differ in at most "
                   "one axis, or the condition must be constant",
                   ir::type_string(a[i]->type), ir::type_string(b[i]->type));
  }
  Node* made = build_.target().add_node("If", "", {condition}, a.size());
  made->name = node.node.name.empty() ? node.node.output()->name() : node.node.name;
  made->attributes["then_branch"] = yes.graph;
  made->attributes["else_branch"] = no.graph;
  ops::infer(*made);
  size_t o = 0;
  for (size_t i = 0; i < yes.results.size(); i++) {
    Item item = yes.results[i];
    if (item.kind == Item::Kind::tensor) item = Item::of(made->output(o++));
    if (ranges[i]) item = in_range(item.value, *ranges[i]);
    for (Item& element : item.elements) element = Item::of(made->output(o++));
    if (uneven[i]) item.sized(made->output(o++), *uneven[i]);
    node.set_output(i, std::move(item));
  }
}

}  // namespace poprt::compiler
