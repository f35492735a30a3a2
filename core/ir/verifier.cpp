#include "ir/verifier.h"

#include <algorithm>
#include <memory_resource>
#include <unordered_map>
#include <unordered_set>

#include "ir/work.h"

namespace poprt::ir {
namespace {

class Verifier {
 public:
  void run(const Graph& graph) { check_graph(graph, 0); }

 private:
  // A value of the graph that is checked, or of an outer graph.
  struct Known {
    const Graph* owner;
    bool defined = false;  // at the current node
    size_t reads = 0;
  };

  // The graph and the node are part of the message.
  template <class... Args>
  [[noreturn]] void fail_in(const Graph& graph, const Node* node,
                            fmt::format_string<Args...> format, Args&&... args) {
    const std::string what = fmt::format(format, std::forward<Args>(args)...);
    if (node) fail(ErrorCode::internal, "graph '{}': {}: {}", graph.name, node->describe(), what);
    fail(ErrorCode::internal, "graph '{}': {}", graph.name, what);
  }

  void check_graph(const Graph& graph, int depth) {
    if (depth > kMaxSubgraphDepth)
      fail_in(graph, nullptr, "subgraphs are nested deeper than {}", kMaxSubgraphDepth);
    const std::vector<Value*> values = graph.values();
    count_work(values.size());
    known_.reserve(known_.size() + values.size());
    for (const Value* v : values) known_.emplace(v, Known{&graph});
    check_values(graph, values);
    for (const Value* v : graph.inputs()) define(graph, nullptr, v);
    const std::unordered_set<const Value*> inputs(graph.inputs().begin(), graph.inputs().end());
    for (const Value* v : values)
      if (v->is_constant() && !inputs.contains(v)) define(graph, nullptr, v);
    for (const Node* node : graph.nodes()) {
      check_node(graph, *node, depth);
      for (const Value* v : node->outputs()) define(graph, node, v);
    }
    for (const Value* v : graph.outputs()) {
      if (!v) fail_in(graph, nullptr, "a graph output is null");
      check_read(graph, nullptr, v, "output");
      // replace_all_uses() on the parent's value would not find this output.
      if (&v->graph() != &graph)
        fail_in(graph, nullptr, "output '{}' belongs to an outer graph", v->name());
    }
    // A use that belongs to no node would let a pass access a destroyed node.
    for (const Value* v : values) {
      const Known& k = known_.at(v);
      if (!k.defined)
        fail_in(
            graph, v->producer(),
            "value '{}' is neither an input, nor a constant, nor an output of a node of the graph",
            v->name());
      if (v->uses().size() != k.reads)
        fail_in(graph, v->producer(), "value '{}' lists {} uses, {} inputs read it", v->name(),
                v->uses().size(), k.reads);
    }
    for (const Value* v : values) known_.erase(v);
  }

  void check_values(const Graph& graph, const std::vector<Value*>& values) {
    for (const Value* v : values) {
      if (v->name().empty()) fail_in(graph, v->producer(), "a value has no name");
      if (const Value* found = graph.find(v->name()); found != v) {
        if (found && found->name() == v->name())
          fail_in(graph, v->producer(), "two values are named '{}'", v->name());
        fail_in(graph, v->producer(), "value '{}' is not found by its name", v->name());
      }
      if (&v->graph() != &graph)
        fail_in(graph, v->producer(), "value '{}' has a link to another graph", v->name());
      check_type(graph, *v);
    }
  }

  void check_type(const Graph& graph, const Value& v) {
    if (!v.type.has_shape && !v.type.shape.empty())
      fail_in(graph, v.producer(), "value '{}' has dimensions without has_shape", v.name());
    if (!v.type.symbols.empty() && v.type.symbols.size() != v.type.shape.size())
      fail_in(graph, v.producer(), "value '{}' has {} symbols for {} dimensions", v.name(),
              v.type.symbols.size(), v.type.shape.size());
    for (const int64_t d : v.type.shape)
      if (d < kUnknownDim) fail_in(graph, v.producer(), "value '{}' has dimension {}", v.name(), d);
    if (!v.is_constant()) return;
    const Tensor& t = v.constant();
    if (v.producer()) fail_in(graph, v.producer(), "constant '{}' has a producer", v.name());
    if (!t.defined()) fail_in(graph, nullptr, "constant '{}' has no tensor", v.name());
    if (v.type.dtype != t.dtype() || !v.type.has_shape || v.type.shape != t.shape())
      fail_in(graph, nullptr, "constant '{}' is typed {}, its tensor is {}", v.name(),
              type_string(v.type), type_string(ValueType::of(t.dtype(), t.shape())));
  }

  void define(const Graph& graph, const Node* node, const Value* v) {
    if (!v) fail_in(graph, node, "an output is null");
    const auto k = known_.find(v);
    if (k == known_.end() || k->second.owner != &graph)
      fail_in(graph, node, "a value it defines does not belong to the graph");
    if (v->producer() != node)
      fail_in(graph, node, "value '{}' names {} as its producer", v->name(),
              v->producer() ? v->producer()->describe() : "no node");
    if (k->second.defined) fail_in(graph, node, "value '{}' is defined twice", v->name());
    k->second.defined = true;
  }

  void check_node(const Graph& graph, const Node& node, int depth) {
    if (&node.graph() != &graph) fail_in(graph, &node, "belongs to another graph");
    if (node.op_type.empty()) fail_in(graph, &node, "has no operator type");
    for (size_t i = 0; i < node.inputs().size(); i++) {
      const Value* v = node.inputs()[i];
      if (!v) continue;
      check_read(graph, &node, v, "input").reads++;
      if (!lists_use(v, node, i))
        fail_in(graph, &node, "input {} is missing from the uses of '{}'", i, v->name());
    }
    const auto check_sub = [&](const std::shared_ptr<Graph>& sub, std::string_view key) {
      if (!sub) fail_in(graph, &node, "subgraph attribute '{}' is null", key);
      if (sub->parent != &graph)
        fail_in(graph, &node, "subgraph '{}' has another parent", sub->name);
      check_graph(*sub, depth + 1);
    };
    for (const auto& [key, attribute] : node.attributes) {
      if (const auto* sub = std::get_if<std::shared_ptr<Graph>>(&attribute)) check_sub(*sub, key);
      if (const auto* subs = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute))
        for (const auto& s : *subs) check_sub(s, key);
    }
  }

  // A search for each reader would be quadratic in the number of readers, so long lists are indexed
  // once.
  bool lists_use(const Value* v, const Node& node, size_t input) {
    constexpr size_t kSmall = 32;
    if (v->uses().size() <= kSmall)
      return std::any_of(v->uses().begin(), v->uses().end(),
                         [&](const Use& u) { return u.node == &node && u.input == input; });
    auto [it, fresh] = indexed_uses_.try_emplace(v);
    if (fresh)
      for (const Use& u : v->uses()) it->second.emplace(u.node, u.input);
    return it->second.contains({&node, input});
  }

  Known& check_read(const Graph& graph, const Node* node, const Value* v, std::string_view what) {
    // The value may be dangling, so only its address is used.
    const auto k = known_.find(v);
    if (k == known_.end())
      fail_in(graph, node, "an {} is a value that neither the graph nor an ancestor owns", what);
    if (!k->second.defined)
      fail_in(graph, node, "{} '{}' is read before it is computed", what, v->name());
    return k->second;
  }

  struct UseHash {
    size_t operator()(const std::pair<const Node*, size_t>& u) const {
      return std::hash<const Node*>()(u.first) ^ (u.second * 0x9e3779b97f4a7c15u);
    }
  };

  // By default, a graph is verified after every pass. Without an allocation for each value this
  // takes half the time.
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::unordered_map<const Value*, Known> known_{&memory_};
  std::unordered_map<const Value*, std::unordered_set<std::pair<const Node*, size_t>, UseHash>>
      indexed_uses_;
};

}  // namespace

void verify(const Graph& graph) { Verifier().run(graph); }

}  // namespace poprt::ir
