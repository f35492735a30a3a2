#include "compiler/flow/specializer.h"

#include <fmt/format.h>

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

bool decides_shape(const Node& n, size_t input) {
  return ops::in_mask(ops::facts_of(n).shape_inputs, input);
}

}  // namespace

Item Specializer::item_of(const Value* v) const {
  if (!v) return {};
  if (v->is_constant() && &v->graph() == &root_) return Item::of(const_cast<Value*>(v));
  const auto it = items_.find(v);
  if (it == items_.end())
    fail(ErrorCode::invalid_argument, "value '{}' is read before it is computed", v->name());
  return it->second;
}

Items Specializer::items_of(std::span<Value* const> values) const {
  Items items;
  for (const Value* v : values) items.push_back(item_of(v));
  return items;
}

void Specializer::set_output(const Node& n, size_t output, Item item) {
  if (output >= n.outputs().size()) return;
  const Value& v = *n.output(output);
  if (item.kind == Item::Kind::tensor)
    declared_.check(v, item.value->type, item.size ? std::optional(item.axis) : std::nullopt);
  else if (item.kind == Item::Kind::sequence)
    declared_.check_sequence(v, item.elements);
  items_[&v] = std::move(item);
}

void Specializer::take_constants(const Graph& graph) {
  if (&graph == &root_) return;
  for (const Value* v : graph.values())
    if (v->is_constant() && !items_.contains(v))
      items_[v] = Item::of(root_.add_constant(v->name(), v->constant()));
}

bool Specializer::has_sizes(const Node& n, const Items& in) {
  for (size_t i = 0; i < in.size(); i++)
    if (in[i].size || (in[i].actual && decides_shape(n, i))) return true;
  return false;
}

bool Specializer::reads_actual(const Node& n, const Items& in) {
  for (size_t i = 0; i < in.size(); i++)
    if (in[i].actual && !decides_shape(n, i)) return true;
  return false;
}

void Specializer::run_node(const Node& n) {
  build_.step();
  if (ops::is_resolved(n)) {
    Resolver node(*this, n);
    return ops::op_of(n).resolve(node);
  }
  if (ops::facts_of(n).source == ops::ElementSource::itself)
    return set_output(n, 0, item_of(n.input(0)));
  copy_node(n);
}

void Specializer::copy_node(const Node& n) {
  const Items in = items_of(n.inputs());
  if (!reads_actual(n, in)) return copy_with(n, in);
  // Computes with the bounds if they are known, and also with the actual sizes.
  std::optional<std::vector<ops::SizeRange>> ranges;
  if (!ops::facts_of(n).data_sized && !has_sizes(n, in)) ranges = ranges_of(n, in);
  Items sizes = in;
  for (size_t i = 0; i < in.size(); i++)
    if (!decides_shape(n, i)) sizes[i] = ops::actual_of(in[i]);
  copy_with(n, sizes);
  for (size_t i = 0; ranges && i < n.outputs().size(); i++) {
    Item item = Item::of((*ranges)[i].most);
    if (!item.value->constant().same_as((*ranges)[i].least->constant())) {
      item.actual = item_of(n.output(i)).value;
      item.least = (*ranges)[i].least;
    }
    set_output(n, i, item);
  }
}

// Determines the real part of the results. Changes the node's inputs `in`.
ops::BoundResult Specializer::bound_of(const Node& n, Items& in) {
  const ops::Facts& facts = ops::facts_of(n);
  const bool sizes = has_sizes(n, in);
  if (in.empty() || (!sizes && (!facts.data_sized || options_.keep_onnx))) return {};
  ops::BoundContext ctx(n, in, build_);
  for (size_t i = 0; i < in.size() && !facts.bounds_shape; i++)
    if (in[i].actual && decides_shape(n, i)) ctx.refuse_shape(in[i]);
  if (!sizes && !in[0].value->type.is_static()) return {};
  for (const Item& item : in)
    if (item.twin && !facts.per_element && !facts.bounds_twins) ctx.refuse_size(item);
  const auto rule = ops::op_of(n).bound;
  const ops::BoundResult bound = rule ? rule(ctx) : ops::bound_unstated(ctx);
  in = std::move(ctx.in);
  return bound;
}

Node* Specializer::copy_of(const Node& n, const Items& in) {
  ir::for_each_subgraph(n, [&](const Graph&) {
    fail(ErrorCode::unimplemented, "{} (opset {}): subgraphs of this operator are not supported",
         n.describe(), n.opset());
  });
  std::vector<Value*> values;
  for (const Item& item : in) values.push_back(item.value);
  std::vector<std::string> names;
  for (const Value* v : n.outputs()) names.push_back(build_.scope() + v->name());
  Node* made =
      build_.target().add_node(n.op_type, n.domain, values, n.outputs().size(), nullptr, names);
  made->name = n.name.empty() ? n.name : build_.scope() + n.name;
  made->attributes = n.attributes;
  return made;
}

void Specializer::set_outputs(const Node& n, const std::vector<Value*>& results,
                              const ops::BoundResult& bound) {
  for (size_t i = 0; i < results.size(); i++) {
    Item item = bound.results.empty() ? Item::of(results[i]) : bound.results[i];
    if (bound.size && results[i]->type.is_static()) item.sized(bound.size, bound.axis, bound.twin);
    set_output(n, i, std::move(item));
    if (build_.scope().empty()) names_.emplace_back(results[i], n.output(i)->name());
  }
}

void Specializer::copy_with(const Node& n, Items in) {
  for (const Item& item : in)
    if (item.kind == Item::Kind::sequence)
      fail(ErrorCode::invalid_argument, "{} (opset {}): an input is a sequence, expected a tensor",
           n.describe(), n.opset());
  const ops::BoundResult bound = bound_of(n, in);
  std::vector<Value*> results = {bound.whole};
  if (!bound.results.empty()) {
    results.clear();
    for (const Item& item : bound.results) results.push_back(item.value);
  } else if (!bound.whole) {
    results = build_.finish(copy_of(n, in));
  }
  if (bound.after) results[0] = bound.after(results[0]);
  set_outputs(n, results, bound);
}

}  // namespace poprt::compiler
