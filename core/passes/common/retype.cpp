#include "passes/common/retype.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/newest.h"
#include "ops/common/custom.h"
#include "passes/common/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

class Retyper {
 public:
  explicit Retyper(const Retype& rule) : rule_(rule) {}

  void values(Graph& g) {
    if (is_left_out(g)) return;
    for (Value* v : g.values()) {
      if (v->dtype() != rule_.from || (rule_.stays && rule_.stays(*v))) continue;
      if (!v->is_constant()) {
        v->type.dtype = rule_.to;
        narrowed_.insert(v);
        continue;
      }
      // The old constant, for readers that keep the old type.
      Value* kept = nullptr;
      const std::vector<ir::Use> uses = v->uses();
      for (const ir::Use& u : uses) {
        if (!rule_.keeps(u) && !is_left_out(u.node->graph())) continue;
        if (!kept) kept = g.add_constant(v->name() + "_kept", v->constant());
        u.node->set_input(u.input, kept);
      }
      if (kept && !is_used(v) && !g.is_input(v)) {
        const std::string name = v->name();
        g.erase_value(v);
        g.rename(kept, name);
        continue;
      }
      v->set_constant(rule_.convert(v->constant(), v->name()));
      narrowed_.insert(v);
    }
    for (Node* n : g.nodes()) {
      // Attributes of custom operators may hold types, but their meaning is unknown. Attributes of
      // a skipped node decide that it computes the old type.
      if (ops::custom_op_of(*n) && !rule_.accepts(*n)) continue;
      if (rule_.skips && rule_.skips(*n)) continue;
      const bool is_cast = n->op_type == "Cast" && ir::is_onnx_domain(n->domain);
      for (auto& [key, attribute] : n->attributes) {
        auto* number = std::get_if<int64_t>(&attribute);
        if (number && *number == rule_.onnx_from &&
            ((is_cast && key == "to") || key == "dtype" || key == "output_datatype"))
          *number = rule_.onnx_to;
        auto* tensor = std::get_if<Tensor>(&attribute);
        if (tensor && tensor->dtype() == rule_.from)
          *tensor = rule_.convert(*tensor, n->name.empty() ? n->op_type : n->name);
      }
    }
  }

  void casts(Graph& g) {
    std::unordered_map<const Value*, Value*> widened;
    const std::vector<Node*> nodes = g.nodes();
    for (size_t i = 0; i < nodes.size(); i++) {
      Node* n = nodes[i];
      const bool accepted = rule_.accepts(*n) && !is_left_out(g);
      for (size_t k = 0; k < n->inputs().size(); k++) {
        Value* v = n->input(k);
        if (!v || !narrowed_.contains(v) || (accepted && !rule_.keeps({n, k}))) continue;
        Value*& wide = widened[v];
        if (!wide) {
          wide = add_cast(g, v->name() + "_wide", rule_.onnx_from, n);
          wide->producer()->set_input(0, v);
          wide->type = v->type;
          wide->type.dtype = rule_.from;
        }
        n->set_input(k, wide);
      }
      if (accepted) continue;
      Node* next = i + 1 < nodes.size() ? nodes[i + 1] : nullptr;
      for (Value* v : n->outputs()) {
        if (narrowed_.erase(v) == 0) continue;
        v->type.dtype = rule_.from;
        if (!is_used(v)) continue;
        Value* narrow = add_cast(g, v->name() + "_narrow", rule_.onnx_to, next);
        narrow->type = v->type;
        narrow->type.dtype = rule_.to;
        g.replace_all_uses(v, narrow);
        narrow->producer()->set_input(0, v);
        narrowed_.insert(narrow);
      }
    }
  }

 private:
  bool is_left_out(const Graph& g) const { return rule_.leaves && rule_.leaves(g); }

  static Value* add_cast(Graph& g, const std::string& name, int64_t to, Node* before) {
    Node* n = g.add_node("Cast", "", std::span<Value* const>(), 1, before, std::span(&name, 1));
    n->attributes["to"] = to;
    return n->output();
  }

  const Retype& rule_;
  std::unordered_set<const Value*> narrowed_;  // values that had `from` and have `to`
};

}  // namespace

void retype(Graph& graph, const Retype& rule) {
  Retyper retyper(rule);
  for_each_graph(graph, [&](Graph& g) { retyper.values(g); });
  for_each_graph(graph, [&](Graph& g) { retyper.casts(g); });
  PassContext context;
  pass_of("shape_inference").run(graph, context);
}

}  // namespace poprt::passes
