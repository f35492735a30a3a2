#include "compiler/flow/specializer.h"

#include <fmt/format.h>

#include "base/onnx_dtype.h"

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

constexpr int64_t kMostTruths = 1 << 10;  // most elements of a boolean tensor that get a range

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
    declared_.check_sequence(v, item.is_kept_sequence() ? std::vector<Value*>() : item.parts());
  item = limited(v, std::move(item));
  if (item.actual && item.least &&
      ranges_.insert_or_assign(item.actual, ops::SizeRange{item.least, item.value}).second)
    ranged_.push_back(item.actual);
  items_[&v] = std::move(item);
}

void Specializer::name_result(const Node& n, size_t output, const Item& item) {
  if (output >= n.outputs().size() || item.kind != Item::Kind::tensor || !item.value->producer())
    return;
  bool stays = false;
  ir::for_each_subgraph(*item.value->producer(), [&](const Graph&) { stays = true; });
  if (!stays) return;
  const std::string name = build_.scope() + n.output(output)->name();
  Graph& graph = item.value->graph();
  if (build_.scope().empty())
    names_.emplace_back(item.value, name);
  else if (!graph.find(name))
    graph.rename(item.value, name);
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
  Items in = items_of(n.inputs());
  limit_shape_inputs(n, in);
  if (counts_truths(n, in)) return set_truths(n, in);
  if (!reads_actual(n, in)) return copy_with(n, in);
  // Computes with the bounds if they are known, and also with the actual sizes.
  std::optional<std::vector<ops::SizeRange>> ranges;
  if (!ops::facts_of(n).data_sized && !has_sizes(n, in)) ranges = ranges_of(n, in);
  Items sizes = in;
  for (size_t i = 0; i < in.size(); i++)
    if (!decides_shape(n, i)) sizes[i] = ops::actual_of(in[i]);
  copy_with(n, sizes);
  for (size_t i = 0; ranges && i < n.outputs().size(); i++)
    set_output(n, i, in_range(ops::actual_of(item_of(n.output(i))).value, (*ranges)[i]));
}

// Whether the node casts booleans to integers. The elements of the result are 0 or 1, so a sum of
// them has a bound.
bool Specializer::counts_truths(const Node& n, const Items& in) const {
  constexpr int64_t kFirstWithNumbers = 6;  // attribute `to` was text before
  if (options_.keep_onnx || in.empty() || n.opset() < kFirstWithNumbers ||
      ops::facts_of(n).cast != ops::CastForm::to_type)
    return false;
  const auto to = in.size() > 1 ? std::nullopt : dtype_from_onnx(n.int_attr("to", 0));
  const Item& x = in[0];
  return (to == DType::s64 || to == DType::s32) && !x.size && !x.actual &&
         x.kind == Item::Kind::tensor && !x.value->is_constant() &&
         x.value->dtype() == DType::boolean && x.value->type.is_static() &&
         element_count(x.value->shape()) <= kMostTruths;
}

void Specializer::set_truths(const Node& n, const Items& in) {
  copy_with(n, in);
  Value* v = item_of(n.output(0)).value;
  const Shape& shape = v->shape();
  const std::vector<int64_t> ones(static_cast<size_t>(element_count(shape)), 1);
  const auto numbers = [&](const Tensor& t) {
    return build_.make1("Cast", {build_.constant(t)}, {{"to", n.int_attr("to", 0)}});
  };
  set_output(n, 0,
             in_range(v, {numbers(Tensor::zeros(DType::s64, shape)),
                          numbers(Tensor::of<int64_t>(shape, ones))}));
}

// Determines the real part of the results. Changes the node's inputs `in`.
ops::BoundResult Specializer::bound_of(const Node& n, Items& in) {
  const ops::Facts& facts = ops::facts_of(n);
  const bool sizes = has_sizes(n, in);
  const auto most =
      facts.bounds_shape && !n.outputs().empty() ? max_size_of(*n.output()) : std::nullopt;
  if (in.empty() || (!sizes && !most && (!facts.data_sized || options_.keep_onnx))) return {};
  ops::BoundContext ctx(n, in, build_);
  ctx.max_size = most;
  ctx.run_part = [this](const Node& part, Items items) {
    build_.step();
    return results_of(part, std::move(items));
  };
  for (size_t i = 0; i < in.size() && !facts.bounds_shape; i++)
    if (in[i].actual && decides_shape(n, i)) ctx.refuse_shape(i);
  if (!sizes && !most && !in[0].value->type.is_static()) return {};
  for (const Item& item : in)
    if (sizes && item.kind == Item::Kind::tensor && !item.value->type.is_static())
      ctx.fail_at(ErrorCode::unimplemented,
                  "the shape of '{}' is {} and depends on run-time values; the device runs static "
                  "shapes only",
                  item.value->name(), ir::type_string(item.value->type));
  for (const Item& item : in)
    if (item.twin && !facts.per_element && !facts.bounds_twins) ctx.refuse_size(item);
  const auto rule = ops::op_of(n).bound;
  const ops::BoundResult bound = rule ? rule(ctx) : ops::bound_unstated(ctx);
  in = std::move(ctx.in);
  return bound;
}

Node* Specializer::copy_of(const Node& n, const std::vector<Value*>& values) {
  std::vector<std::string> names;
  for (const Value* v : n.outputs()) names.push_back(build_.scope() + v->name());
  Node* made =
      build_.target().add_node(n.op_type, n.domain, values, n.outputs().size(), nullptr, names);
  made->name = n.name.empty() ? n.name : build_.scope() + n.name;
  made->attributes = n.attributes;
  return made;
}

Items Specializer::results_of(const Node& n, Items in) {
  for (const Item& item : in)
    if (item.kind == Item::Kind::sequence)
      fail(ErrorCode::invalid_argument, "{} (opset {}): an input is a sequence, expected a tensor",
           n.describe(), n.opset());
  const ops::BoundResult bound = bound_of(n, in);
  if (!bound.results.empty()) return bound.results;
  std::vector<Value*> results = {bound.whole};
  if (!bound.whole) {
    ir::for_each_subgraph(n, [&](const Graph&) {
      fail(ErrorCode::unimplemented, "{} (opset {}): subgraphs of this operator are not supported",
           n.describe(), n.opset());
    });
    std::vector<Value*> values;
    for (const Item& item : in) values.push_back(item.value);
    results = build_.finish(copy_of(n, values));
  }
  if (bound.after) results[0] = bound.after(results[0]);
  Items items;
  for (Value* v : results) {
    items.push_back(Item::of(v));
    if (bound.size && v->type.is_static()) items.back().sized(bound.size, bound.axis, bound.twin);
  }
  return items;
}

void Specializer::copy_with(const Node& n, Items in) {
  Items items = results_of(n, std::move(in));
  for (size_t i = 0; i < items.size(); i++) {
    if (items[i].kind == Item::Kind::none) continue;
    if (build_.scope().empty()) names_.emplace_back(items[i].value, n.output(i)->name());
    set_output(n, i, std::move(items[i]));
  }
}

Item Specializer::apply(const std::string& op, const Items& in,
                        ops::FoldingBuilder::Attributes attributes) {
  Graph alone("apply");
  alone.opsets = root_.opsets;
  std::vector<Value*> inputs;
  for (const Item& item : in)
    inputs.push_back(item.value ? alone.add_input(alone.fresh_name("x"), item.value->type)
                                : nullptr);
  Node* n = alone.add_node(op, "", inputs);
  for (const auto& [key, value] : attributes) n->attributes[key] = value;
  build_.step();
  return results_of(*n, in)[0];
}

// The value that a kept node reads. A sequence of known elements becomes a SequenceConstruct.
Value* Specializer::kept_value(const Node& n, const Item& item) {
  if (item.kind != Item::Kind::sequence || item.is_kept_sequence()) return item.value;
  if (item.elements.empty())
    fail(ErrorCode::unimplemented, "{} (opset {}): a sequence without elements", n.describe(),
         n.opset());
  const std::vector<Value*> elements = item.parts();
  return build_.target().add_node("SequenceConstruct", "", elements)->output();
}

std::shared_ptr<Graph> Specializer::kept_body(const Graph& body) {
  auto copy = std::make_shared<Graph>(body.name);
  copy->parent = &build_.target();
  const std::string scope = fmt::format("body_{}/", build_.next_scope());
  Items inputs;
  for (const Value* v : body.inputs())
    inputs.push_back(Item::of(copy->add_input(scope + v->name(), v->type)));
  const ops::FoldingBuilder::Into into(build_, *copy);
  for (const Item& item : ops::actual_of(run_body(body, inputs))) {
    if (item.kind != Item::Kind::tensor)
      fail(ErrorCode::unimplemented, "subgraph '{}': a result is a sequence, expected a tensor",
           body.name);
    // Each output needs a separate value: ONNX Runtime does not write the second of two outputs
    // with the same name.
    Value* v = build_.as_output(item.value);
    if (copy->is_output(v)) {
      const ir::ValueType type = v->type;
      v = copy->add_node("Identity", "", {v})->output();
      v->type = type;
    }
    copy->add_output(v);
  }
  return copy;
}

Node* Specializer::keep_node(const Node& n, const Items& in) {
  if (!options_.keep_onnx)
    fail(ErrorCode::internal, "{}: the node cannot be kept when a model is compiled", n.describe());
  std::vector<Value*> values;
  for (const Item& item : in) values.push_back(kept_value(n, item));
  std::vector<std::pair<std::string, std::shared_ptr<Graph>>> bodies;
  for (const auto& [key, attribute] : n.attributes)
    if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute))
      bodies.emplace_back(key, kept_body(**body));
  Node* made = copy_of(n, values);
  for (auto& [key, body] : bodies) made->attributes[key] = std::move(body);
  ops::infer(*made);
  return made;
}

void Specializer::Resolver::keep(const ir::ValueType& type) {
  Node* made = s_.keep_node(node, actual());
  for (size_t i = 0; i < node.outputs().size(); i++) {
    Value* v = made->output(i);
    if (v->type.dtype == DType::undefined) v->type = type;
    if (s_.build_.scope().empty()) s_.names_.emplace_back(v, node.output(i)->name());
    set_output(i, Item::of(v));
  }
}

void Specializer::Resolver::keep_sequence(const ir::ValueType& element) {
  Item item;
  item.kind = Item::Kind::sequence;
  item.value = s_.keep_node(node, actual())->output();
  item.element = element;
  set_output(0, std::move(item));
}

}  // namespace poprt::compiler
