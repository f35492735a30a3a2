#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/facts.h"
#include "passes/common/build.h"

namespace poprt::passes::merge_moe_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The nodes of one branch in graph order.
struct Expert {
  std::vector<Node*> nodes;
  // The position of the node that produces each value.
  std::unordered_map<const Value*, size_t> made;

  Node& begin() const { return *nodes.front(); }
  Node& end() const { return *nodes.back(); }
};

std::vector<Node*> nodes_between(Node& begin, Node& end) {
  std::unordered_set<const Node*> reached{&begin}, needed{&end};
  const std::vector<Node*> all = begin.graph().nodes();
  const auto reads = [](const Node* n, const std::unordered_set<const Node*>& of) {
    return std::ranges::any_of(n->inputs(), [&](const Value* v) {
      return v && v->producer() && of.contains(v->producer());
    });
  };
  for (const Node* n : all)
    if (reads(n, reached)) reached.insert(n);
  for (auto it = all.rbegin(); it != all.rend(); ++it)
    if (needed.contains(*it))
      for (const Value* v : (*it)->inputs())
        if (v && v->producer() && reached.contains(v->producer())) needed.insert(v->producer());
  std::vector<Node*> nodes;
  for (Node* n : all)
    if (reached.contains(n) && needed.contains(n)) nodes.push_back(n);
  return nodes;
}

Expert expert_of(Graph& graph, const std::string& from, const std::string& to) {
  Node &begin = node_of(graph, from, ""), &end = node_of(graph, to, "");
  Expert e;
  if (&begin.graph() == &end.graph()) e.nodes = nodes_between(begin, end);
  if (e.nodes.empty() || &e.begin() != &begin || &e.end() != &end)
    fail(ErrorCode::invalid_argument, "there is no path from node '{}' to node '{}'", from, to);
  for (size_t i = 0; i < e.nodes.size(); i++) e.made[e.nodes[i]->output()] = i;
  for (const Node* n : e.nodes) {
    const Value* v = n->output();
    if (n == &end) break;
    const bool inside = std::ranges::all_of(v->uses(), [&](const ir::Use& use) {
      return std::ranges::find(e.nodes, use.node) != e.nodes.end();
    });
    if (!inside || v->graph().is_output(v) || n->outputs().size() != 1)
      fail(ErrorCode::invalid_argument,
           "'{}' inside the branch from '{}' has a reader outside of it", v->name(), from);
  }
  return e;
}

// Merges branches into one that computes all of them: inputs and weights are stacked along a new
// first axis.
class Merger {
 public:
  explicit Merger(std::vector<Expert> experts) : experts_(std::move(experts)) {
    std::unordered_set<const Node*> seen;
    for (const Expert& e : experts_)
      if (&e.begin().graph() != &experts_[0].begin().graph())
        differ(experts_[0].begin(), e.begin(), "they are in different graphs");
    for (const Expert& e : experts_)
      for (const Node* n : e.nodes)
        if (!seen.insert(n).second)
          fail(ErrorCode::invalid_argument, "{} is in two of the named branches", n->describe());
    for (const Node* n : experts_[0].begin().graph().nodes())
      for (const Expert& e : experts_)
        if (n == &e.begin()) at_ = &e.begin();
    for (const Expert& e : experts_) compare(e);
  }

  void merge() {
    for (size_t i = 0; i < experts_[0].nodes.size(); i++) batched_.push_back(batch(i));
    const auto count = static_cast<int64_t>(experts_.size());
    const std::vector<Value*> parts =
        split_into(*at_, batched_.back(), std::vector<int64_t>(experts_.size(), 1), 0);
    std::vector<Value*> results;
    for (Value* part : parts) results.push_back(reshaped(*at_, part, last().shape()));
    POPRT_ASSERT(batched_.back()->shape()[0] == count);
    Graph& graph = at_->graph();
    for (size_t i = 0; i < experts_.size(); i++)
      replace_outputs(experts_[i].end(), std::span(&results[i], 1));
    graph.sort();  // readers of the first branches may precede the last one
  }

 private:
  const Value& last() const { return *experts_[0].end().output(); }

  [[noreturn]] static void differ(const Node& a, const Node& b, std::string_view why) {
    fail(ErrorCode::invalid_argument, "{} and {} of two branches cannot be one: {}", a.describe(),
         b.describe(), why);
  }

  void compare(const Expert& e) const {
    const Expert& first = experts_[0];
    if (e.nodes.size() != first.nodes.size())
      differ(first.begin(), e.begin(), "the branches have different numbers of nodes");
    for (size_t i = 0; i < e.nodes.size(); i++) {
      const Node &a = *first.nodes[i], &b = *e.nodes[i];
      if (!b.is(a.op_type, a.domain) || a.inputs().size() != b.inputs().size() ||
          !ir::same_attributes(a, b))
        differ(a, b, "operators differ");
      if (!same_static_shape(a.output(), b.output()) || a.output()->dtype() != b.output()->dtype())
        differ(a, b, "types differ");
      if (!a.is("MatMul") && !ops::facts_of(a).per_element)
        differ(a, b, "only MatMul and elementwise operators are merged");
      for (size_t k = 0; k < a.inputs().size(); k++) {
        const Value *x = a.input(k), *y = b.input(k);
        if (!x || !y || !same_static_shape(x, y) || x->dtype() != y->dtype() ||
            x->is_constant() != y->is_constant() || position(first, x) != position(e, y))
          differ(a, b, "their inputs differ in kind or type");
      }
    }
  }

  static std::optional<size_t> position(const Expert& e, const Value* v) {
    const auto found = e.made.find(v);
    return found == e.made.end() ? std::nullopt : std::optional(found->second);
  }

  // Stacks input k of node i of all branches along a new first axis, followed by `rank` dimensions.
  Value* stacked(size_t i, size_t k, size_t rank) {
    const Value* v = experts_[0].nodes[i]->input(k);
    Shape shape = v->shape();
    shape.insert(shape.begin(), rank - shape.size(), 1);
    shape.insert(shape.begin(), 1);
    if (const auto at = position(experts_[0], v)) {
      shape[0] = static_cast<int64_t>(experts_.size());
      return reshaped(*at_, batched_[*at], shape);
    }
    if (v->is_constant()) {
      std::vector<Tensor> tensors;
      for (const Expert& e : experts_)
        tensors.push_back(e.nodes[i]->input(k)->constant().reshaped(shape));
      return at_->graph().add_constant(v->name() + "_experts", concat_of(tensors, 0));
    }
    std::vector<Value*> parts;
    for (const Expert& e : experts_) parts.push_back(reshaped(*at_, e.nodes[i]->input(k), shape));
    return joined(*at_, parts, 0);
  }

  Value* batch(size_t i) {
    const Node& n = *experts_[0].nodes[i];
    size_t rank = n.output()->shape().size();
    for (const Value* v : n.inputs()) rank = std::max(rank, v->shape().size());
    if (n.is("MatMul") && (n.input(0)->shape().size() < 2 || n.input(1)->shape().size() < 2))
      differ(n, n, "its operands have fewer than two dimensions");
    std::vector<Value*> inputs;
    for (size_t k = 0; k < n.inputs().size(); k++) inputs.push_back(stacked(i, k, rank));
    return insert_like(*at_, n, inputs)->output();
  }

  std::vector<Expert> experts_;
  std::vector<Value*> batched_;
  Node* at_ = nullptr;  // the last of the branches' first nodes; new nodes are added before it
};

void run(Graph& graph, PassContext& context) {
  const std::vector<std::string> names = context.names("names");
  if (names.size() % 2 != 0 || names.size() < 4)
    fail(ErrorCode::invalid_argument,
         "names: expected the first and the last node of at least two branches, found {} names",
         names.size());
  std::vector<Expert> experts;
  for (size_t i = 0; i < names.size(); i += 2)
    experts.push_back(expert_of(graph, names[i], names[i + 1]));
  Merger merger(std::move(experts));
  if (context.allow()) merger.merge();
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "merge_moe",
                     .summary =
                         "merges the branches of a mixture of experts: weights and inputs are "
                         "stacked along a new axis",
                     .condition =
                         "the named branches have equal operators and types, contain MatMul and "
                         "elementwise operators only (run replace_gemm_with_matmul first if there "
                         "is a Gemm), and only their last results have readers outside",
                     .numerics = Numerics::rounding,
                     .run = run,
                     .parameters = {{"names", ParameterKind::names,
                                     "first and last node of each branch", "", true}}};

}  // namespace poprt::passes::merge_moe_pass
