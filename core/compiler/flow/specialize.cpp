#include "compiler/flow/specialize.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "compiler/flow/specializer.h"
#include "ops/common/images.h"
#include "ops/common/state.h"

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

constexpr int kMaxDepth = 64;

}  // namespace

Specializer::Handler Specializer::handler_of(const Node& n) {
  switch (ops::facts_of(n).flow) {
    case ops::Flow::none: return nullptr;
    case ops::Flow::branch: return &Specializer::run_if;
    case ops::Flow::loop: return &Specializer::run_loop;
    case ops::Flow::scan: return &Specializer::run_scan;
    case ops::Flow::call: return &Specializer::run_call;
    case ops::Flow::greedy_search:
    case ops::Flow::beam_search:
    case ops::Flow::sampling: return &Specializer::run_search;
    case ops::Flow::flex_attention: return &Specializer::run_flex_attention;
    case ops::Flow::sequence_map: return &Specializer::run_sequence_map;
    case ops::Flow::split_to_sequence: return &Specializer::run_split;
    case ops::Flow::concat_from_sequence: return &Specializer::run_concat;
    case ops::Flow::sequence_empty:
    case ops::Flow::sequence_construct:
    case ops::Flow::sequence_length:
    case ops::Flow::sequence_at:
    case ops::Flow::sequence_insert:
    case ops::Flow::sequence_erase:
    case ops::Flow::optional:
    case ops::Flow::optional_has_element:
    case ops::Flow::optional_get_element: return &Specializer::run_container;
  }
  return nullptr;
}

bool Specializer::has_work(const Graph& graph) {
  for (const Value* v : graph.values())
    if (v->dtype() == DType::string) return true;
  for (const Node* n : graph.nodes()) {
    if (handler_of(*n) || makes_unknown_sizes(*n) || is_text(*n) || ops::decodes_image(*n))
      return true;
  }
  return false;
}

void Specializer::run_node(const Node& n) {
  step();
  if (const Handler handler = handler_of(n)) return (this->*handler)(n);
  if (ops::facts_of(n).source == ops::ElementSource::itself) return give(n, 0, item_of(n.input(0)));
  copy_node(n);
}

void Specializer::copy_node(const Node& n) {
  const Items in = items_of(n.inputs());
  if (!reads_actual(n, in)) return copy_with(n, in);
  // Once with bounds, while those are known; once with sizes.
  std::optional<std::vector<Range>> ranges;
  if (!makes_unknown_sizes(n) && !has_sizes(n, in)) ranges = ranges_of(n, in);
  Items sizes = in;
  for (size_t i = 0; i < in.size(); i++)
    if (!decides_shape(n, i)) sizes[i] = actual_of(in[i]);
  copy_with(n, sizes);
  for (size_t i = 0; ranges && i < n.outputs().size(); i++) {
    Item item = Item::of((*ranges)[i].most);
    if (!item.value->constant().same_as((*ranges)[i].least->constant())) {
      item.actual = item_of(n.output(i)).value;
      item.least = (*ranges)[i].least;
    }
    give(n, i, item);
  }
}

void Specializer::copy_with(const Node& n, Items in) {
  for (const Item& item : in)
    if (item.kind == Item::Kind::sequence)
      fail_at(n, ErrorCode::invalid_argument, "an input is a sequence, expected a tensor");
  SizedResult followed;
  if (!ops::facts_of(n).from_shapes && has_sizes(n, in)) followed = follow(n, in);
  std::vector<Value*> results = {followed.whole};
  Node* made = nullptr;
  if (!followed.whole) {
    std::vector<Value*> values;
    for (const Item& item : in) values.push_back(item.value);
    std::vector<std::string> names;
    for (const Value* v : n.outputs()) names.push_back(scope_ + v->name());
    made = target_->add_node(n.op_type, n.domain, values, n.outputs().size(), nullptr, names);
    made->name = n.name.empty() ? n.name : scope_ + n.name;
    ir::for_each_subgraph(n, [&](const Graph&) {
      fail_at(n, ErrorCode::unimplemented, "subgraphs of this operator are not supported");
    });
    made->attributes = n.attributes;
    const Value* const output = made->output();
    results = finish(made);
    if (results[0] != output) made = nullptr;  // it was evaluated, and is gone
  }
  const bool unknown = made && makes_unknown_sizes(n);
  if (followed.after) results[0] = followed.after(results[0]);
  for (size_t i = 0; i < results.size(); i++) {
    Item item = Item::of(results[i]);
    if (followed.size && results[i]->type.is_static()) item.sized(followed.size, followed.axis);
    // What is only a bound is compared when it is known along which axis.
    if (unknown)
      items_[n.output(i)] = std::move(item);
    else
      give(n, i, std::move(item));
    if (scope_.empty()) names_.emplace_back(results[i], n.output(i)->name());
  }
  if (unknown && !options_.keep_onnx) return bound_sizes(n, made);
  if (ops::facts_of(n).from_shapes && !in.empty() && in[0].size) give_actual(n, in[0]);
}

Specializer::Items Specializer::run_body(const Graph& body, const Items& inputs,
                                         const Nodes& made) {
  if (body.inputs().size() != inputs.size())
    fail(ErrorCode::invalid_argument, "subgraph '{}' has {} inputs, expected {}", body.name,
         body.inputs().size(), inputs.size());
  if (depth_ >= kMaxDepth)
    fail(ErrorCode::resource_exhausted, "subgraphs are nested deeper than {}", kMaxDepth);
  take_constants(body);
  const Scope scope(*this, body);
  for (size_t i = 0; i < inputs.size(); i++) {
    if (inputs[i].kind == Item::Kind::tensor) check_subgraph_input(body, i, inputs[i].value->type);
    items_[body.inputs()[i]] = inputs[i];
  }
  for (const Node* n : body.nodes())
    if (!made.contains(n)) run_node(*n);
  return items_of(body.outputs());
}

Specializer::Nodes Specializer::run_invariant(const Graph& body) {
  take_constants(body);
  const Scope scope(*this, body);
  std::unordered_set<const Value*> changing(body.inputs().begin(), body.inputs().end());
  Nodes made;
  for (const Node* n : body.nodes()) {
    bool same = !handler_of(*n) && !makes_unknown_sizes(*n) && ops::op_of(*n).pure;
    ir::for_each_subgraph(*n, [&](const Graph&) { same = false; });
    for (const Value* v : n->inputs()) same &= !changing.contains(v);
    if (same) {
      run_node(*n);
      made.insert(n);
    } else {
      changing.insert(n->outputs().begin(), n->outputs().end());
    }
  }
  return made;
}

void Specializer::set_outputs(const std::vector<Value*>& old) {
  struct Output {
    std::string name;
    Item item;
  };
  std::vector<Output> outputs;
  std::unordered_set<std::string> taken;
  for (const Value* v : old) taken.insert(v->name());
  for (const Value* v : old) {
    const Item item = actual_of(item_of(v));
    if (item.kind == Item::Kind::tensor) outputs.push_back({v->name(), item});
    for (size_t i = 0; i < item.elements.size(); i++)
      outputs.push_back({fmt::format("{}[{}]", v->name(), i), Item::of(item.elements[i])});
  }
  // How much of an output is real follows the outputs.
  const size_t count = outputs.size();
  for (size_t i = 0; i < count; i++) {
    const Item item = outputs[i].item;
    const std::string name = outputs[i].name + std::string(kShapeSuffix);
    if (!item.size || options_.keep_onnx || taken.contains(name) || !item.value->type.is_static())
      continue;
    const Shape& bound = item.value->shape();
    std::vector<Value*> dims;
    for (size_t d = 0; d < bound.size(); d++)
      dims.push_back(d == item.axis ? reshape(item.size, {1}) : integers(std::array{bound[d]}));
    Value* shape = dims.size() == 1 ? dims[0] : make("Concat", "", dims, {{"axis", int64_t{0}}})[0];
    outputs.push_back({name, Item::of(shape)});
  }
  while (!root_.outputs().empty()) root_.remove_output(root_.outputs().size() - 1);
  std::unordered_map<std::string, Value*> renames;
  std::vector<std::pair<Value*, std::string>> wanted;
  for (const Output& o : outputs) {
    Value* v = o.item.value;
    if (v->dtype() == DType::string) {
      if (!v->is_constant())
        fail(ErrorCode::unimplemented, "output '{}' is text that depends on an input", o.name);
      if (!options_.constant_outputs)
        fail(ErrorCode::unimplemented, "output '{}' is text ({}): the device has no strings",
             o.name, shape_string(v->shape()));
      (*options_.constant_outputs)[o.name] = v->constant();
      continue;
    }
    // An input or a constant that is an output keeps its name, which no other value can have.
    const bool itself = !v->producer() && v->name() == o.name;
    if ((!v->producer() && !itself) || root_.is_output(v)) {
      Node* n = root_.add_node("Identity", "", {v});
      n->output()->type = v->type;
      v = n->output();
    }
    root_.add_output(v);
    wanted.emplace_back(v, o.name);
  }
  names_.insert(names_.begin(), wanted.begin(), wanted.end());
}

void Specializer::run() {
  const std::vector<Node*> nodes = root_.nodes();
  const std::vector<Value*> outputs = root_.outputs();
  for (Value* v : root_.inputs()) items_[v] = Item::of(v);
  for (const Node* n : nodes) run_node(*n);
  set_outputs(outputs);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) root_.erase_node(*it);
  // New nodes that nobody reads, among them those of attempts that were given up.
  const std::vector<Node*> made = root_.nodes();
  std::unordered_set<const Value*> gone;
  for (auto it = made.rbegin(); it != made.rend(); ++it) {
    const auto out = (*it)->outputs();
    if (ops::is_stateful(**it)) continue;
    if (std::any_of(out.begin(), out.end(),
                    [&](const Value* v) { return !v->uses().empty() || root_.is_output(v); }))
      continue;
    gone.insert(out.begin(), out.end());
    root_.erase_node(*it);
  }
  for (Value* v : root_.values())
    if (v->is_constant() && v->uses().empty() && !root_.is_output(v)) {
      gone.insert(v);
      root_.erase_value(v);
    }
  // Outputs stand first: their names win.
  std::unordered_set<const Value*> named;
  for (const auto& [value, name] : names_)
    if (!gone.contains(value) && &value->graph() == &root_ && !root_.is_input(value) &&
        !root_.find(name) && named.insert(value).second)
      root_.rename(value, name);
}

namespace {

// Before bodies are copied: what is one node has one state.
void number_states(Graph& graph, int64_t& next) {
  for (Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [&](Graph& sub) { number_states(sub, next); });
    if (ops::is_stateful(*n) && !n->find_attr(ops::kStateAttribute))
      n->attributes[std::string(ops::kStateAttribute)] = next++;
  }
}

}  // namespace

bool specialize(Graph& graph, const Options& options, const DeclaredTypes& declared) {
  int64_t states = 0;
  number_states(graph, states);
  if (!Specializer::has_work(graph)) return false;
  Specializer(graph, options, declared).run();
  return true;
}

}  // namespace poprt::compiler
