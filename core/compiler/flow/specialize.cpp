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

// Whether an operator with a rule for bounds has a shape that depends on data: a shape that is
// computed from the elements of a graph input, and not only from shapes.
bool has_data_shapes(const Graph& graph) {
  std::unordered_set<const Value*> data;
  for (const Value* v : graph.inputs())
    if (!v->is_constant()) data.insert(v);
  for (const Node* n : graph.nodes()) {
    const ops::Facts& facts = ops::facts_of(*n);
    const auto reads_data = [&](const Value* v) { return data.contains(v); };
    for (size_t i = 0; facts.bounds_shape && i < n->inputs().size(); i++)
      if (ops::in_mask(facts.shape_inputs, i) && reads_data(n->input(i))) return true;
    if (!facts.from_shapes && std::ranges::any_of(n->inputs(), reads_data))
      data.insert(n->outputs().begin(), n->outputs().end());
  }
  return false;
}

}  // namespace

bool Specializer::has_work(const Graph& graph) {
  if (has_data_shapes(graph)) return true;
  for (const Value* v : graph.values())
    if (v->dtype() == DType::string) return true;
  for (const Node* n : graph.nodes()) {
    if (ops::is_resolved(*n) || ops::facts_of(*n).data_sized || ops::computes_text(*n) ||
        ops::decodes_image(*n))
      return true;
  }
  return false;
}

Items Specializer::run_body(const Graph& body, const Items& inputs, const ops::NodeSet& made) {
  if (body.inputs().size() != inputs.size())
    fail(ErrorCode::invalid_argument, "subgraph '{}' has {} inputs, expected {}", body.name,
         body.inputs().size(), inputs.size());
  if (build_.depth() >= kMaxDepth)
    fail(ErrorCode::resource_exhausted, "subgraphs are nested deeper than {}", kMaxDepth);
  take_constants(body);
  const ops::FoldingBuilder::Scope scope(build_, body);
  for (size_t i = 0; i < inputs.size(); i++) {
    if (inputs[i].kind == Item::Kind::tensor) declared_.check_input(body, i, inputs[i].value->type);
    items_[body.inputs()[i]] = inputs[i];
  }
  for (const Node* n : body.nodes())
    if (!made.contains(n)) run_node(*n);
  return items_of(body.outputs());
}

ops::NodeSet Specializer::run_invariant(const Graph& body) {
  take_constants(body);
  const ops::FoldingBuilder::Scope scope(build_, body);
  std::unordered_set<const Value*> changing(body.inputs().begin(), body.inputs().end());
  ops::NodeSet made;
  for (const Node* n : body.nodes()) {
    bool same = !ops::is_resolved(*n) && !ops::facts_of(*n).data_sized && ops::op_of(*n).pure;
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
    const Item item = ops::actual_of(item_of(v));
    if (item.is_kept_sequence() || (item.kind == Item::Kind::sequence && item.size))
      fail(ErrorCode::unimplemented,
           "output '{}' is a sequence whose number of elements depends on data", v->name());
    if (item.kind == Item::Kind::tensor) outputs.push_back({v->name(), item});
    for (size_t i = 0; i < item.elements.size(); i++)
      outputs.push_back({fmt::format("{}[{}]", v->name(), i), item.elements[i]});
  }
  // The real sizes of outputs are added after the outputs.
  const size_t count = outputs.size();
  for (size_t i = 0; i < count; i++) {
    const Item item = outputs[i].item;
    const std::string name = outputs[i].name + std::string(kShapeSuffix);
    if (options_.keep_onnx || taken.contains(name) || !item.value->type.is_static()) continue;
    const bool wanted = options_.sized_outputs.contains(name);
    if (!item.size && !wanted) continue;
    // A size that follows from the size of the request is not an output, because the caller can
    // compute it.
    if (!wanted && std::ranges::any_of(request_sizes_, [&](const Value* size) {
          return ops::is_linear_in(item.size, size);
        }))
      continue;
    const Shape& bound = item.value->shape();
    std::vector<Value*> dims;
    for (size_t d = 0; d < bound.size(); d++) {
      if (options_.sized_axes && item.sized_along(d))
        (*options_.sized_axes)[outputs[i].name].insert(d);
      dims.push_back(item.sized_along(d) ? build_.reshape(item.size, {1})
                                         : build_.integers(std::array{bound[d]}));
    }
    Value* shape =
        dims.size() == 1 ? dims[0] : build_.make("Concat", "", dims, {{"axis", int64_t{0}}})[0];
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
    // An input or a constant that is an output keeps its name, which must be unique.
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

void Specializer::take_real_places() {
  for (const auto& [name, places] : options_.real_places) {
    Value *v = root_.find(name), *mask = root_.find(places.mask);
    if (!v || !mask || places.axis >= v->shape().size())
      fail(ErrorCode::internal, "there is no input '{}' with an axis {}, or no '{}'", name,
           places.axis, places.mask);
    Value* size = build_.find_or_make("Count", "poprt", {mask});
    request_sizes_.insert(size);
    items_[v].sized(size, places.axis);
  }
}

void Specializer::run() {
  const std::vector<Node*> nodes = root_.nodes();
  const std::vector<Value*> outputs = root_.outputs();
  for (Value* v : root_.inputs()) items_[v] = limited(*v, Item::of(v));
  take_real_places();
  for (const Node* n : nodes) run_node(*n);
  set_outputs(outputs);
  root_.erase_nodes(nodes);
  // Removes new nodes without readers, such as those of failed attempts.
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
  // Outputs are first, so that they get their names.
  std::unordered_set<const Value*> named;
  for (const auto& [value, name] : names_)
    if (!gone.contains(value) && &value->graph() == &root_ && !root_.is_input(value) &&
        !root_.find(name) && named.insert(value).second)
      root_.rename(value, name);
}

namespace {

// States are numbered before bodies are copied, so that the copies of a node share one state.
void number_states(Graph& graph, int64_t& next) {
  for (Node* n : graph.nodes()) {
    ir::for_each_subgraph(*n, [&](Graph& sub) { number_states(sub, next); });
    if (ops::is_stateful(*n) && !n->find_attr(ops::kStateAttribute))
      n->attributes[std::string(ops::kStateAttribute)] = next++;
  }
}

}  // namespace

bool may_have_real_sizes(const Graph& graph) { return Specializer::has_work(graph); }

bool specialize(Graph& graph, const Options& options, const DeclaredTypes& declared) {
  int64_t states = 0;
  number_states(graph, states);
  if (options.real_places.empty() && !Specializer::has_work(graph)) return false;
  Specializer(graph, options, declared).run();
  return true;
}

}  // namespace poprt::compiler
