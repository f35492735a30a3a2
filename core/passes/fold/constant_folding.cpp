#include <algorithm>
#include <string_view>

#include "base/checked.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"
#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr uint64_t kLargeResult = 1 << 20;  // bytes

// Weights that must be constants to be packed: worth any size. Quantised ones are widened by a few
// steps on the way there, of which `budget` are looked at.
bool reader_needs_constant(const Value* v, int& budget) {
  return std::any_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) {
    static constexpr std::string_view kSteps[] = {"Cast",    "Sub",   "Mul",   "Transpose",
                                                  "Reshape", "Slice", "Concat"};
    const std::string_view op = u.node->op_type;
    if (u.input == 1 && (op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul"))
      return true;
    if (u.input <= 2 && u.input >= 1 && (op == "LSTM" || op == "GRU" || op == "RNN")) return true;
    return budget-- > 0 &&
           std::find(std::begin(kSteps), std::end(kSteps), op) != std::end(kSteps) &&
           reader_needs_constant(u.node->output(), budget);
  });
}

// `made`: bytes of the results.
bool worth_it(const Node& n, const PassContext& context, uint64_t& made) {
  uint64_t read = 0;
  bool needed = false;
  for (const Value* v : n.inputs())
    if (v) read += v->constant().bytes();
  for (const Value* v : n.outputs()) {
    if (!v->type.is_static() || v->dtype() == DType::string) return false;
    const uint64_t bytes = dtype_bytes(v->dtype(), element_count(v->shape()));
    if (context.max_tensor_size >= 0 && bytes > static_cast<uint64_t>(context.max_tensor_size))
      return false;
    made += bytes;
    int budget = 16;
    needed |= reader_needs_constant(v, budget);
  }
  // Quantized weights stay quantized here; the compiler widens those that no integer kernel takes.
  if (n.op_type == "DequantizeLinear" && made > sizeof(float)) return false;
  return needed || made <= kLargeResult || made <= 2 * read;
}

// Shape and Size of a value of static shape need no value.
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

bool has_subgraphs(const Node& n) {
  bool any = false;
  ir::for_each_subgraph(n, [&](const Graph&) { any = true; });
  return any;
}

// Puts constants in the place of the node's results.
void become(Node* n, std::span<const Tensor> results) {
  Graph& g = n->graph();
  std::vector<std::pair<Value*, std::string>> names;
  for (size_t i = 0; i < results.size(); i++) {
    Value* old = n->output(i);
    if (!is_used(old)) continue;
    Value* constant = g.add_constant(old->name() + "_folded", results[i]);
    names.emplace_back(constant, old->name());
    g.replace_all_uses(old, constant);
  }
  erase_if_dead(n);
  for (const auto& [value, name] : names) g.rename(value, name);
}

// What folding may make in all: a chain of nodes that each double a constant is not worth
// following.
uint64_t budget_of(Graph& graph) {
  uint64_t given = 0;
  for_each_graph(graph, [&](Graph& g) {
    for (const Value* v : g.values())
      if (v->is_constant()) given = checked_add(given, v->constant().bytes());
  });
  constexpr uint64_t kAlways = uint64_t{256} << 20;
  return checked_add(checked_mul<uint64_t>(given, 4), kAlways);
}

void run(Graph& graph, PassContext& context) {
  uint64_t budget = budget_of(graph);
  for_each_graph(graph, [&](Graph& g) {
    for (Node* n : g.nodes()) {
      // A graph output keeps its node: results of a graph come from nodes.
      bool is_result = false;
      for (const Value* v : n->outputs()) is_result |= g.is_output(v);
      if (has_subgraphs(*n)) continue;
      // What was folded in front of it may be its shape: later nodes may ask for that.
      const ops::OpDef* op = ops::find_op(n->domain, n->op_type, n->opset());
      if (op && std::any_of(n->outputs().begin(), n->outputs().end(),
                            [](const Value* v) { return !v->type.is_static(); }))
        ops::infer(*n);
      if (is_result) continue;
      if (const auto shape = shape_of(*n)) {
        if (context.allow()) become(n, std::span(&*shape, 1));
        continue;
      }
      const bool constant = std::all_of(n->inputs().begin(), n->inputs().end(), [](const Value* v) {
        return !v || (v->is_constant() && v->dtype() != DType::string);
      });
      if (!constant) continue;
      if (!op || !op->pure || !op->lower) continue;
      uint64_t made = 0;
      if (!worth_it(*n, context, made) || made > budget || !context.allow()) continue;
      budget -= made;
      std::vector<Tensor> inputs;
      for (const Value* v : n->inputs()) inputs.push_back(v ? v->constant() : Tensor());
      become(n, ops::evaluate(*n, inputs));
    }
  });
}

}  // namespace

extern const PassDef constant_folding_pass;
const PassDef constant_folding_pass = {
    .name = "constant_folding", .summary = "computes what depends on constants only", .run = run};

}  // namespace poprt::passes
