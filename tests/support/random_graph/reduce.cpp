// Makes a failing graph small: removes outputs, replaces results by inputs or constants with their
// values, and bypasses nodes, as long as the graph still fails.
#include <algorithm>

#include "support/random_graph/random_graph.h"

namespace poprt::test {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;
using Fails = std::function<bool(const RandomGraph&)>;

void drop_unused(RandomGraph& g) {
  Graph& graph = *g.graph;
  for (bool again = true; again;) {
    again = false;
    const std::vector<Node*> nodes = graph.nodes();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      const auto outputs = (*it)->outputs();
      if (std::any_of(outputs.begin(), outputs.end(),
                      [&](const Value* v) { return !v->uses().empty() || graph.is_output(v); }))
        continue;
      graph.erase_node(*it);
      again = true;
    }
  }
  for (Value* v : graph.values()) {
    if (v->producer() || !v->uses().empty() || graph.is_output(v)) continue;
    if (graph.is_input(v)) g.feeds.erase(v->name());
    graph.erase_value(v);
  }
}

// Replaces the results of a node by inputs or constants with the values of these results.
void cut(RandomGraph& g, Node& n, const Values& known, bool constant) {
  Graph& graph = *g.graph;
  for (Value* v : n.outputs()) {
    if (v->uses().empty()) continue;
    const Tensor& t = known.at(v);
    Value* twin = constant ? graph.add_constant("", t)
                           : graph.add_input("", ir::ValueType::of(t.dtype(), t.shape()));
    if (!constant) g.feeds[twin->name()] = t;
    const std::vector<ir::Use> uses = v->uses();
    for (const ir::Use& u : uses) u.node->set_input(u.input, twin);
  }
}

class Reducer {
 public:
  Reducer(const RandomGraph& g, const Fails& fails) : best_(copy_of(g)), fails_(fails) {}

  RandomGraph run() {
    for (bool again = true; again;) {
      again = false;
      for (size_t i = best_.graph->outputs().size(); i-- > 0;)
        again |= best_.graph->outputs().size() > 1 &&
                 take([&](RandomGraph& g) { g.graph->remove_output(i); });
      for (size_t i = best_.graph->node_count(); i-- > 0;) {
        for (const bool constant : {false, true})
          if (i < best_.graph->node_count() &&
              take([&](RandomGraph& g) { cut_at(g, i, constant); }))
            again = true;
      }
      for (size_t i = best_.graph->node_count(); i-- > 0;)
        again |= take([&](RandomGraph& g) { bypass(g, i); });
    }
    return std::move(best_);
  }

 private:
  template <class Change>
  bool take(const Change& change) {
    RandomGraph g = copy_of(best_);
    const size_t before = g.graph->node_count() + g.graph->outputs().size();
    try {
      change(g);
      drop_unused(g);
      if (g.graph->outputs().empty() ||
          g.graph->node_count() + g.graph->outputs().size() >= before || !fails_(g))
        return false;
    } catch (const Error&) {
      return false;
    }
    best_ = std::move(g);
    return true;
  }

  void cut_at(RandomGraph& g, size_t index, bool constant) {
    const Values known = evaluate_nodes(*g.graph, g.feeds);
    Node& n = *g.graph->nodes()[index];
    cut(g, n, known, constant);
  }

  // Reads an input of the same type instead of the node's result.
  static void bypass(RandomGraph& g, size_t index) {
    if (index >= g.graph->node_count()) return;
    Node& n = *g.graph->nodes()[index];
    Value* y = n.output();
    for (Value* x : n.inputs()) {
      if (!x || x->dtype() != y->dtype() || x->shape() != y->shape()) continue;
      const std::vector<ir::Use> uses = y->uses();
      for (const ir::Use& u : uses) u.node->set_input(u.input, x);
      return;
    }
  }

  RandomGraph best_;
  const Fails& fails_;
};

}  // namespace

RandomGraph reduced(const RandomGraph& g, const Fails& fails) { return Reducer(g, fails).run(); }

}  // namespace poprt::test
