// Groups elementwise nodes into one poprt.Elementwise that reads and writes memory once.
//
// Groups grow in topological order. A node joins the groups that produce its inputs if all results
// have the same static shape, no path leaves the group and returns to it (the fused node would
// depend on itself), and the program is within the kernel's limits.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/work.h"
#include "ops/common/elementwise_program.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::elementwise_fusion_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;
using ops::ElementwiseProgram;

constexpr size_t kMostVisited = 512;  // nodes that depend on a group

struct Fused {
  ElementwiseProgram program;
  std::vector<Value*> inputs, outputs;
};

class Fusion {
 public:
  explicit Fusion(Graph& graph) : graph_(graph), nodes_(graph.nodes()) {
    for (size_t i = 0; i < nodes_.size(); i++) {
      position_[nodes_[i]] = i;
      claim(*nodes_[i], nodes_[i]);
    }
  }

  void run(PassContext& context) {
    for (Node* n : nodes_)
      if (is_candidate(*n)) place(n);
    bool changed = false;
    for (const auto& group : groups_)
      if (group.size() > 1 && context.allow()) {
        replace(group);
        changed = true;
      }
    if (changed) graph_.sort();
  }

 private:
  using Group = std::vector<Node*>;  // in topological order

  // Records for each node in the subgraphs of `n` that node `holder` of this graph contains it.
  void claim(const Node& n, Node* holder) {
    ir::for_each_subgraph(n, [&](const Graph& sub) {
      for (Node* inner : sub.nodes()) {
        holder_[inner] = holder;
        claim(*inner, holder);
      }
    });
  }
  Node* holder(Node* reader) const {
    const auto it = holder_.find(reader);
    return it == holder_.end() ? reader : it->second;
  }

  static bool is_candidate(const Node& n) {
    return ops::is_fusable_elementwise(n) && n.output()->type.is_static() &&
           element_count(n.output()->shape()) > 0;
  }

  void place(Node* n) {
    Group group{n};
    std::set<size_t> joined;
    for (const Value* v : n->inputs()) {
      if (!v || !v->producer() || &v->graph() != &graph_) continue;
      const auto it = group_of_.find(v->producer());
      if (it == group_of_.end() || joined.contains(it->second)) continue;
      Group merged = groups_[it->second];
      if (merged.front()->output()->shape() != n->output()->shape()) continue;
      merged.insert(merged.end(), group.begin(), group.end());
      std::sort(merged.begin(), merged.end(),
                [&](Node* a, Node* b) { return position_.at(a) < position_.at(b); });
      if (!is_convex(merged) || !build(merged)) continue;
      group = std::move(merged);
      joined.insert(it->second);
    }
    for (const size_t old : joined) groups_[old].clear();
    for (Node* member : group) group_of_[member] = groups_.size();
    groups_.push_back(std::move(group));
  }

  // Whether no outside node depends on the group and is needed by it. Each existing group counts as
  // one node. A group on which more than kMostVisited nodes depend is not examined further and
  // counts as not convex: a value with thousands of readers would be visited for each of them.
  bool is_convex(const Group& group) const {
    const std::set<Node*> members(group.begin(), group.end());
    const size_t last = position_.at(group.back());
    std::set<Node*> seen;
    std::vector<Node*> work;
    const auto visit_readers = [&](const Node* n) {
      for (const Value* v : n->outputs())
        for (const ir::Use& u : v->uses()) {
          Node* reader = holder(u.node);
          ir::count_work(1);
          if (!members.contains(reader) && seen.insert(reader).second) work.push_back(reader);
          if (seen.size() > kMostVisited) return;
        }
    };
    for (const Node* n : group) visit_readers(n);
    while (!work.empty()) {
      if (seen.size() > kMostVisited) return false;
      ir::count_work(1);
      Node* n = work.back();
      work.pop_back();
      const auto it = group_of_.find(n);
      const bool in_group = it != group_of_.end() && groups_[it->second].size() > 1;
      if (!in_group && position_.at(n) > last) continue;
      const Group alone{n};
      for (const Node* m : in_group ? groups_[it->second] : alone) {
        if (members.contains(const_cast<Node*>(m))) continue;
        for (const Value* v : m->outputs())
          for (const ir::Use& u : v->uses()) {
            Node* reader = holder(u.node);
            if (members.contains(reader)) return false;
            if (seen.insert(reader).second) work.push_back(reader);
          }
      }
    }
    return true;
  }

  // Returns nothing if the kernel's limits are exceeded.
  std::optional<Fused> build(const Group& group) const {
    Fused out;
    const std::set<const Node*> members(group.begin(), group.end());
    std::unordered_map<const Value*, ElementwiseProgram::Value> known;
    for (const Node* n : group) {
      std::vector<ElementwiseProgram::Value> operands;
      for (Value* v : n->inputs()) {
        // CastLike reads only the type of its second input, which may have any shape.
        if (!v || (n->op_type == "CastLike" && !operands.empty())) {
          operands.push_back(0);
          continue;
        }
        if (const auto it = known.find(v); it != known.end()) {
          // A QuantizeLinear must be the last step of its program, because only the store of a
          // result saturates.
          if (v->producer() && members.contains(v->producer()) &&
              v->producer()->op_type == "QuantizeLinear")
            return std::nullopt;
          operands.push_back(it->second);
          continue;
        }
        if (const auto scalar = ops::scalar_constant(v)) {
          operands.push_back(out.program.constant(*scalar));
          continue;
        }
        out.inputs.push_back(v);
        operands.push_back(known[v] = out.program.add_input());
      }
      known[n->output()] = ops::append_elementwise(out.program, *n, operands);
    }
    for (const Node* n : group) {
      Value* v = n->output();
      const bool outside = graph_.is_output(v) ||
                           std::any_of(v->uses().begin(), v->uses().end(),
                                       [&](const auto& u) { return !members.contains(u.node); });
      if (!outside) continue;
      out.outputs.push_back(v);
      out.program.add_output(known.at(v), v->dtype());
    }
    if (out.inputs.empty() || out.outputs.empty() || !out.program.fits()) return std::nullopt;
    // A constant of more dimensions than the inputs determines the rank of the result. This is rare
    // and not fused.
    Shape shape = out.inputs[0]->shape();
    for (const Value* v : out.inputs) {
      if (!v->type.is_static()) return std::nullopt;
      shape = broadcast_shapes(shape, v->shape());
    }
    if (shape != group.front()->output()->shape()) return std::nullopt;
    return out;
  }

  void replace(const Group& group) {
    const auto fused = build(group);
    POPRT_ASSERT(fused.has_value());
    std::vector<std::string> names;
    for (const Value* v : fused->outputs) names.push_back(v->name() + "_fused");
    Node* n = graph_.add_node("Elementwise", "poprt", fused->inputs, fused->outputs.size(),
                              group.back(), names);
    n->name = group.back()->name;
    fused->program.to_node(*n);
    ops::infer(*n);
    for (size_t i = 0; i < fused->outputs.size(); i++) {
      const std::string name = fused->outputs[i]->name();
      graph_.replace_all_uses(fused->outputs[i], n->output(i));
      names[i] = name;
    }
    for (size_t i = group.size(); i-- > 0;) graph_.erase_node(group[i]);
    for (size_t i = 0; i < names.size(); i++)
      if (!graph_.is_output(n->output(i))) graph_.rename(n->output(i), names[i]);
  }

  Graph& graph_;
  const std::vector<Node*> nodes_;
  std::unordered_map<const Node*, size_t> position_;
  std::unordered_map<const Node*, Node*> holder_;
  std::unordered_map<const Node*, size_t> group_of_;
  std::vector<Group> groups_;
};

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) { Fusion(g).run(context); });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "elementwise_fusion",
                     .summary = "computes chains of elementwise nodes in one pass over memory",
                     .condition =
                         "static shapes; no path leaves the group and returns to it; within the "
                         "limits of the kernel. f16 values in between stay f32",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::elementwise_fusion_pass
