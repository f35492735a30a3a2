#include "ir/graph.h"

#include <algorithm>
#include <unordered_set>

#include "ir/newest.h"
#include "ir/work.h"

namespace poprt::ir {

std::string type_string(const ValueType& type) {
  if (type.dtype == DType::undefined && !type.has_shape) return "?";
  std::string s(dtype_name(type.dtype));
  if (!type.has_shape) return s + "[*]";
  s += '[';
  for (size_t i = 0; i < type.shape.size(); i++) {
    if (i) s += ',';
    if (type.shape[i] >= 0)
      s += std::to_string(type.shape[i]);
    else
      s += i < type.symbols.size() && !type.symbols[i].empty() ? type.symbols[i] : "?";
  }
  return s + ']';
}

void Value::set_constant(Tensor tensor) {
  POPRT_ASSERT(producer_ == nullptr);
  type = ValueType::of(tensor.dtype(), tensor.shape());
  constant_ = std::move(tensor);
}

// -- Node ---------------------------------------------------------------------------------------

namespace {

void drop_use(std::vector<Use>& uses, const Node* node, size_t input) {
  // Searches from both ends: ~Graph removes the last uses first, and a pass that rewrites all
  // readers of a value removes the first uses first.
  const auto is_it = [&](const Use& u) { return u.node == node && u.input == input; };
  for (size_t i = 0, n = uses.size(); 2 * i < n; i++) {
    const size_t found = is_it(uses[n - 1 - i]) ? n - 1 - i : i;
    if (!is_it(uses[found])) continue;
    count_work(i + 1);
    uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(found));
    return;
  }
  POPRT_ASSERT(false);
}

}  // namespace

void Node::set_input(size_t i, Value* value) {
  if (i >= inputs_.size()) inputs_.resize(i + 1, nullptr);
  if (inputs_[i]) drop_use(inputs_[i]->uses_, this, i);
  inputs_[i] = value;
  if (value) value->uses_.push_back({this, i});
}

void Node::set_inputs(std::span<Value* const> values) {
  const std::vector<Value*> wanted(values.begin(), values.end());
  for (size_t i = inputs_.size(); i-- > 0;)
    if (inputs_[i]) drop_use(inputs_[i]->uses_, this, i);
  inputs_.assign(wanted.size(), nullptr);
  for (size_t i = 0; i < wanted.size(); i++) set_input(i, wanted[i]);
}

int64_t Node::opset() const {
  if (domain == "poprt") return 1;
  if (domain == kNewestDomain) return kNewestOpset;
  for (const Graph* g = graph_; g; g = g->parent) {
    if (const auto it = g->opsets.find(domain); it != g->opsets.end()) return it->second;
    if (domain.empty() || domain == "ai.onnx")  // two names of one domain
      if (const auto it = g->opsets.find(domain.empty() ? "ai.onnx" : ""); it != g->opsets.end())
        return it->second;
  }
  return 0;
}

const Attribute* Node::find_attr(std::string_view key) const {
  const auto it = attributes.find(key);
  return it == attributes.end() ? nullptr : &it->second;
}

namespace {

template <class T>
const T* typed_attr(const Node& node, std::string_view key, std::string_view wanted) {
  const Attribute* a = node.find_attr(key);
  if (!a) return nullptr;
  const T* v = std::get_if<T>(a);
  if (!v)
    fail(ErrorCode::invalid_argument, "{}: attribute '{}' should be {}", node.describe(), key,
         wanted);
  return v;
}

}  // namespace

int64_t Node::int_attr(std::string_view key, int64_t fallback) const {
  const auto* v = typed_attr<int64_t>(*this, key, "an integer");
  return v ? *v : fallback;
}
float Node::float_attr(std::string_view key, float fallback) const {
  const auto* v = typed_attr<float>(*this, key, "a float");
  return v ? *v : fallback;
}
std::string Node::string_attr(std::string_view key, std::string_view fallback) const {
  const auto* v = typed_attr<std::string>(*this, key, "a string");
  return v ? *v : std::string(fallback);
}
std::vector<int64_t> Node::ints_attr(std::string_view key,
                                     const std::vector<int64_t>& fallback) const {
  const auto* v = typed_attr<std::vector<int64_t>>(*this, key, "a list of integers");
  return v ? *v : fallback;
}
std::vector<float> Node::floats_attr(std::string_view key,
                                     const std::vector<float>& fallback) const {
  const auto* v = typed_attr<std::vector<float>>(*this, key, "a list of floats");
  return v ? *v : fallback;
}

std::string Node::describe() const {
  const std::string type = domain.empty() ? op_type : domain + "." + op_type;
  if (!name.empty()) return fmt::format("{} node '{}'", type, name);
  if (!outputs_.empty()) return fmt::format("{} node that makes '{}'", type, outputs_[0]->name());
  return type + " node";
}

// -- Graph --------------------------------------------------------------------------------------

// Searching for each of many uses of a value would be quadratic, so the uses of such values are
// removed at once.
void Graph::drop_shared_inputs(std::span<Node* const> nodes) {
  std::unordered_map<Value*, size_t> own;
  for (const Node* n : nodes)
    for (Value* v : n->inputs_)
      if (v) own[v]++;
  std::erase_if(own, [](const auto& of) { return of.second < of.first->uses_.size() / 8 + 2; });
  const std::unordered_set<const Node*> readers(nodes.begin(), nodes.end());
  for (const auto& [v, count] : own) {
    count_work(v->uses_.size());
    std::erase_if(v->uses_, [&](const Use& use) { return readers.contains(use.node); });
  }
  for (Node* n : nodes)
    for (Value*& v : n->inputs_)
      if (own.contains(v)) v = nullptr;
}

Graph::~Graph() {
  // A large part of the many uses of a value, such as a constant of an outer graph, may be in this
  // graph, for example after the nodes of a body were copied.
  drop_shared_inputs(nodes());
  // Subgraphs read values of this graph, so nodes are destroyed before the values.
  for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
    (*it)->set_inputs({});
    (*it)->attributes.clear();
  }
}

std::vector<Node*> Graph::nodes() const {
  std::vector<Node*> out;
  out.reserve(nodes_.size());
  count_work(nodes_.size());
  for (const auto& n : nodes_) out.push_back(n.get());
  return out;
}

std::vector<Value*> Graph::values() const {
  std::vector<Value*> out;
  out.reserve(value_slot_.size());
  count_work(values_.size());
  for (const auto& v : values_)
    if (v) out.push_back(v.get());
  return out;
}

Value* Graph::find(std::string_view value_name) const {
  const auto it = by_name_.find(std::string(value_name));
  return it == by_name_.end() ? nullptr : it->second;
}

std::string Graph::fresh_name(std::string_view stem) {
  std::string base(stem.empty() ? "v" : stem);
  if (!stem.empty() && !by_name_.contains(base)) return base;
  uint64_t& counter = name_counters_[base];
  std::string candidate;
  do {
    candidate = fmt::format("{}_{}", base, counter++);
  } while (by_name_.contains(candidate));
  return candidate;
}

Value* Graph::new_value(std::string_view value_name) {
  auto v = std::make_unique<Value>();
  v->name_ = fresh_name(value_name);
  v->graph_ = this;
  Value* raw = v.get();
  by_name_.emplace(raw->name_, raw);
  value_slot_.emplace(raw, values_.size());
  values_.push_back(std::move(v));
  return raw;
}

Value* Graph::add_input(std::string_view value_name, ValueType type) {
  Value* v = new_value(value_name);
  v->type = std::move(type);
  inputs_.push_back(v);
  return v;
}

Value* Graph::add_constant(std::string_view value_name, Tensor tensor) {
  Value* v = new_value(value_name);
  v->set_constant(std::move(tensor));
  return v;
}

Node* Graph::add_node(std::string op_type, std::string domain, std::span<Value* const> inputs,
                      size_t output_count, Node* before,
                      std::span<const std::string> output_names) {
  const auto at = before ? before->position_ : nodes_.end();
  const auto it = nodes_.insert(at, std::make_unique<Node>());
  Node* n = it->get();
  n->position_ = it;
  n->graph_ = this;
  n->op_type = std::move(op_type);
  n->domain = std::move(domain);
  n->set_inputs(inputs);
  for (size_t i = 0; i < output_count; i++) {
    Value* v = new_value(i < output_names.size() ? output_names[i] : std::string());
    v->producer_ = n;
    n->outputs_.push_back(v);
  }
  return n;
}

void Graph::remove_input(Value* value) {
  const auto it = std::find(inputs_.begin(), inputs_.end(), value);
  POPRT_ASSERT(it != inputs_.end());
  inputs_.erase(it);
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}
bool Graph::is_input(const Value* value) const {
  return std::find(inputs_.begin(), inputs_.end(), value) != inputs_.end();
}

void Graph::replace_all_uses(Value* from, Value* to) {
  if (from == to) return;
  // All uses move at once: set_input() would search the list for each.
  for (const Use& u : from->uses_) u.node->inputs_[u.input] = to;
  to->uses_.insert(to->uses_.end(), from->uses_.begin(), from->uses_.end());
  count_work(from->uses_.size());
  from->uses_.clear();
  if (!is_output(from)) return;
  const bool take_name = to->producer_ && to->graph_ == this && !is_output(to);
  for (Value*& o : outputs_)
    if (o == from) o = to;
  if (take_name) {
    const std::string keep = from->name_;
    rename(from, fresh_name(keep + "_replaced"));
    rename(to, keep);
  }
}

void Graph::erase_node(Node* node) {
  for (Value* v : node->outputs_) POPRT_ASSERT(v->uses_.empty() && !is_output(v));
  node->set_inputs({});
  node->attributes.clear();
  for (Value* v : node->outputs_) v->producer_ = nullptr;
  const std::vector<Value*> outputs = node->outputs_;
  nodes_.erase(node->position_);
  for (Value* v : outputs) erase_value(v);
}

void Graph::erase_nodes(std::span<Node* const> nodes) {
  drop_shared_inputs(nodes);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) erase_node(*it);
}

void Graph::erase_value(Value* value) {
  POPRT_ASSERT(value->uses_.empty() && value->producer_ == nullptr && !is_output(value));
  if (is_input(value)) remove_input(value);
  by_name_.erase(value->name_);
  const auto it = value_slot_.find(value);
  POPRT_ASSERT(it != value_slot_.end());
  values_[it->second].reset();
  value_slot_.erase(it);
}

void Graph::rename(Value* value, std::string_view value_name) {
  if (value->name_ == value_name) return;
  by_name_.erase(value->name_);
  value->name_ = fresh_name(value_name);
  by_name_.emplace(value->name_, value);
}

void Graph::move_before(Node* node, Node* before) {
  nodes_.splice(before->position_, nodes_, node->position_);
}

namespace {

// The values of `graph` that a node reads, including those that its subgraphs capture.
void collect_reads(const Node& node, const Graph& graph, std::vector<Value*>& out) {
  for (Value* v : node.inputs())
    if (v && &v->graph() == &graph) out.push_back(v);
  for_each_subgraph(node, [&](Graph& sub) {
    for (Node* n : sub.nodes()) collect_reads(*n, graph, out);
    for (Value* v : sub.outputs())
      if (&v->graph() == &graph) out.push_back(v);
  });
}

}  // namespace

void Graph::sort() {
  std::unordered_map<Node*, size_t> missing;
  std::unordered_map<Node*, std::vector<Node*>> readers;
  const std::vector<Node*> all = nodes();
  for (Node* n : all) {
    std::vector<Value*> reads;
    collect_reads(*n, *this, reads);
    std::unordered_set<Node*> producers;
    for (Value* v : reads)
      if (v->producer_) producers.insert(v->producer_);
    missing[n] = producers.size();
    for (Node* p : producers) readers[p].push_back(n);
  }
  // The sort is stable: it always takes the ready node that was first in the old order.
  std::unordered_map<Node*, size_t> rank;
  for (size_t i = 0; i < all.size(); i++) rank[all[i]] = i;
  std::map<size_t, Node*> queue;
  for (Node* n : all)
    if (missing[n] == 0) queue.emplace(rank[n], n);
  std::list<std::unique_ptr<Node>> sorted;
  while (!queue.empty()) {
    Node* n = queue.begin()->second;
    queue.erase(queue.begin());
    sorted.splice(sorted.end(), nodes_, n->position_);
    for (Node* r : readers[n])
      if (--missing[r] == 0) queue.emplace(rank[r], r);
  }
  if (!nodes_.empty()) {
    const std::string culprit = nodes_.front()->describe();
    sorted.splice(sorted.end(), nodes_);
    nodes_.swap(sorted);
    fail(ErrorCode::invalid_argument, "the graph has a cycle through {}", culprit);
  }
  nodes_.swap(sorted);
}

void Graph::clone_into(Graph& to, std::unordered_map<const Value*, Value*>& map) const {
  to.opsets = opsets;
  to.metadata = metadata;
  auto clone_graph = [&](const std::shared_ptr<Graph>& sub) {
    auto copy = std::make_shared<Graph>(sub->name);
    copy->parent = &to;
    sub->clone_into(*copy, map);
    return copy;
  };
  for (const Value* v : inputs_) map[v] = to.add_input(v->name_, v->type);
  for (const auto& v : values_)
    if (v && v->constant_) {
      if (is_input(v.get()))
        map[v.get()]->set_constant(*v->constant_);
      else
        map[v.get()] = to.add_constant(v->name_, *v->constant_);
      map[v.get()]->type.symbols = v->type.symbols;
    }
  for (const auto& n : nodes_) {
    std::vector<Value*> ins;
    for (Value* v : n->inputs_) {
      const auto it = map.find(v);
      ins.push_back(!v ? nullptr : it == map.end() ? v : it->second);
    }
    std::vector<std::string> names;
    for (Value* v : n->outputs_) names.push_back(v->name_);
    Node* c = to.add_node(n->op_type, n->domain, ins, n->outputs_.size(), nullptr, names);
    c->name = n->name;
    for (size_t i = 0; i < n->outputs_.size(); i++) {
      c->outputs_[i]->type = n->outputs_[i]->type;
      map[n->outputs_[i]] = c->outputs_[i];
    }
    for (const auto& [key, attribute] : n->attributes) {
      if (const auto* g = std::get_if<std::shared_ptr<Graph>>(&attribute)) {
        c->attributes[key] = clone_graph(*g);
      } else if (const auto* gs = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute)) {
        std::vector<std::shared_ptr<Graph>> copies;
        for (const auto& g2 : *gs) copies.push_back(clone_graph(g2));
        c->attributes[key] = std::move(copies);
      } else {
        c->attributes[key] = attribute;
      }
    }
  }
  for (Value* v : outputs_) {
    const auto it = map.find(v);
    to.add_output(it == map.end() ? v : it->second);
  }
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(name);
  copy->parent = parent;
  std::unordered_map<const Value*, Value*> map;
  clone_into(*copy, map);
  return copy;
}

}  // namespace poprt::ir
