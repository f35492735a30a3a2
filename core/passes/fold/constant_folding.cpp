#include <algorithm>
#include <unordered_set>

#include "base/checked.h"
#include "ops/op.h"
#include "passes/common/constant_cone.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::constant_folding_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Results of at most this many bytes are stored however small their operands are, within the
// Budget.
constexpr uint64_t kSmallResult = 1 << 20;
// The least time, in nanoseconds of one thread for each byte, that storing a larger result must
// save in every run: the time of a few steps of arithmetic. Reading a byte takes 0.04 ns; computing
// it by Expand, Tile or Range takes 0.12 ns.
constexpr double kWorthStoring = 0.5;

bool is_weight_of(const ir::Use& use) {
  const Node& n = *use.node;
  const ops::OpDef* op = ops::find_op(n.domain, n.op_type, n.opset());
  return op && use.input < 32 && op->packs >> use.input & 1;
}

// The number of bytes of constants that folding may still create.
struct Budget {
  uint64_t largest = UINT64_MAX;  // bytes of one result
  // Bytes of all results, because a chain of nodes may double a constant again and again.
  uint64_t made = 0;
  uint64_t stored = 0;  // bytes of large results of small operands

  Budget(Graph& graph, const PassContext& context) {
    uint64_t given = 0;
    for_each_graph(graph, [&](Graph& g) {
      for (const Value* v : g.values())
        if (v->is_constant()) given = checked_add(given, v->constant().bytes());
    });
    constexpr uint64_t kMade = uint64_t{256} << 20, kStored = uint64_t{64} << 20;
    made = checked_add(checked_mul<uint64_t>(given, 4), kMade);
    stored = checked_add(given, kStored);
    int64_t most = context.integer("max_tensor_size");
    if (most < 0) most = context.max_tensor_size;
    largest = most >= 0 ? static_cast<uint64_t>(most) : made;
  }
};

// Computes Shape and Size if the dimensions that they return are known. The value itself is not
// needed.
std::optional<Tensor> shape_of(const Node& n) {
  if (!n.is("Shape") && !n.is("Size")) return std::nullopt;
  const ir::ValueType& type = n.input(0)->type;
  if (!type.has_shape) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.shape.size());
  if (n.is("Size")) {
    if (!is_static(type.shape)) return std::nullopt;
    return Tensor::scalar<int64_t>(element_count(type.shape));
  }
  const auto clamp = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? checked_add(i, rank) : i, 0, rank);
  };
  const int64_t start = clamp(n.int_attr("start", 0)), end = clamp(n.int_attr("end", rank));
  Shape part;
  for (int64_t i = start; i < end; i++) part.push_back(type.shape[static_cast<size_t>(i)]);
  if (!is_static(part)) return std::nullopt;
  return Tensor::of<int64_t>({static_cast<int64_t>(part.size())}, part);
}

bool is_result(const Node& n) {
  return std::any_of(n.outputs().begin(), n.outputs().end(),
                     [&](const Value* v) { return n.graph().is_output(v); });
}

// Whether the node is an Identity that makes a constant an output of the graph. Such a node stays.
bool is_output_of_constant(const Node& n) {
  return n.is("Identity") && n.input(0)->is_constant() && n.output()->uses().empty() &&
         is_result(n);
}

// Replaces the node's results by constants. A graph output must be the result of a node, so it
// becomes the Identity of a constant.
void replace_by_constants(Node* n, std::span<const Tensor> results) {
  Graph& g = n->graph();
  std::vector<std::pair<Value*, std::string>> names;
  for (size_t i = 0; i < results.size(); i++) {
    Value* old = n->output(i);
    if (!is_used(old)) continue;
    Value* constant = g.add_constant(old->name() + "_folded", results[i]);
    if (!g.is_output(old)) names.emplace_back(constant, old->name());
    const std::vector<ir::Use> uses = old->uses();
    for (const ir::Use& use : uses) use.node->set_input(use.input, constant);
    if (!g.is_output(old)) continue;
    Node* handed_out = g.add_node("Identity", "", {constant}, 1, n);
    handed_out->output()->type = old->type;
    g.replace_all_uses(old, handed_out->output());
  }
  erase_if_dead(n);
  for (const auto& [value, name] : names) g.rename(value, name);
}

// Folds nodes in graph order, because a folded value may determine the shape of later nodes.
// Returns whether it folded any.
bool fold_small(Graph& g, PassContext& context, Budget& budget) {
  bool any = false;
  for (Node* n : g.nodes()) {
    const ops::OpDef* op = ops::find_op(n->domain, n->op_type, n->opset());
    if (has_subgraphs(*n) || is_output_of_constant(*n)) continue;
    if (op && std::any_of(n->outputs().begin(), n->outputs().end(),
                          [](const Value* v) { return !v->type.is_static(); }))
      ops::infer(*n);
    if (const auto shape = shape_of(*n)) {
      if (!context.allow()) continue;
      replace_by_constants(n, std::span(&*shape, 1));
      any = true;
      continue;
    }
    const bool constant = std::all_of(n->inputs().begin(), n->inputs().end(), [](const Value* v) {
      return !v || (v->is_constant() && v->dtype() != DType::string);
    });
    if (!constant || !can_be_constant(*n, budget.largest)) continue;
    const uint64_t made = bytes_made(*n);
    if (made > kSmallResult && made > 2 * bytes_read({n})) continue;
    if (made > budget.made || !context.allow()) continue;
    budget.made -= made;
    replace_by_constants(n, evaluate({n}));
    any = true;
  }
  return any;
}

bool worth_storing(const std::vector<Node*>& cone, bool weight, Budget& budget) {
  const uint64_t made = bytes_made(*cone.back());
  if (made > budget.made) return false;
  if (!weight && made > kSmallResult && made > 2 * bytes_read(cone)) {
    if (made > budget.stored || work_of(cone) < kWorthStoring * static_cast<double>(made))
      return false;
    budget.stored -= made;
  }
  budget.made -= made;
  return true;
}

// Folds large results of small operands if storing the result is worth it for the whole computation
// from the constants to the result. It is done at the last node for which it is worth it. Returns
// whether it folded any.
bool fold_large(Graph& g, PassContext& context, Budget& budget) {
  const ConstantCones cones(g, budget.largest);
  std::unordered_set<const Node*> stays;
  std::vector<std::vector<Node*>> folded;
  for (auto it = cones.nodes().rbegin(); it != cones.nodes().rend(); ++it) {
    Node* n = *it;
    bool read = is_result(*n), weight = false;
    for (const Value* v : n->outputs())
      for (const ir::Use& use : v->uses()) {
        read |= !cones.contains(use.node) || stays.contains(use.node);
        weight |= is_weight_of(use);
      }
    if (!read) continue;
    std::vector<Node*> cone = cones.of(n);
    if (!is_output_of_constant(*n) && worth_storing(cone, weight, budget) && context.allow())
      folded.push_back(std::move(cone));
    else
      stays.insert(n);
  }
  for (const std::vector<Node*>& cone : folded) replace_by_constants(cone.back(), evaluate(cone));
  return !folded.empty();
}

void run(Graph& graph, PassContext& context) {
  Budget budget(graph, context);
  for_each_graph(graph, [&](Graph& g) {
    fold_small(g, context, budget);
    while (fold_large(g, context, budget) && fold_small(g, context, budget)) {
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "constant_folding",
    .summary = "computes values that depend on constants only",
    .condition =
        "all inputs are constant, the operator depends on them only, and the result is small, is a "
        "packed weight or saves more time than reading it costs; at most --max_tensor_size",
    .numerics = Numerics::exact,
    .run = run,
    .parameters = {
        {"max_tensor_size", ParameterKind::integer,
         "bytes of the largest constant that is created; -1: the value of --max_tensor_size",
         "-1"}}};

}  // namespace poprt::passes::constant_folding_pass
