// Makes f16 and bf16 graphs compute in f32, because the fast emulator does. Inputs and outputs keep
// their type. Weights become f32 here, and later steps may store them in half precision again if it
// still represents them (narrow_weights and compiler/narrow_storage.h). The results are at least as
// accurate as those of the chip, which rounds more often.
#include <array>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/common/custom.h"
#include "ops/op.h"
#include "passes/common/retype.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::compute_half_in_float_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

struct Half {
  DType dtype;
  int64_t onnx;  // the type's number in Cast's `to`
};
constexpr std::array kHalves = {Half{DType::f16, 10}, Half{DType::bf16, 16}};

// A model of f16 masks a score by adding the most negative number of f16. The sum is rounded to
// that number in f16, but not in f32, so kMasked replaces it. kMasked absorbs every score, like the
// mask of an f32 model, so a row that is masked entirely gives equal weights.
constexpr double kLargestHalf = 65504, kMasked = 1e30;

// The constants of type `type` that reach a Softmax or an attention through nodes that move
// elements or are elementwise: numbers that are added to scores or scale a mask.
class MaskConstants {
 public:
  MaskConstants(Graph& graph, DType type) : type_(type) {
    for_each_node(graph, [&](Node& n) {
      const bool attends = ops::facts_of(n).attends;
      for (size_t i = 0; i < n.inputs().size(); i++)
        if (attends || (i == 0 && (n.is("Softmax") || n.is("LogSoftmax")))) visit(n, i);
    });
    while (!open_.empty()) {
      Node& n = *open_.back();
      open_.pop_back();
      const ops::Facts& facts = ops::facts_of(n);
      for (size_t i = 0; (facts.moves || facts.per_element) && i < n.inputs().size(); i++)
        visit(n, i);
    }
  }
  // Replaces kLargestHalf by kMasked, with its sign, in the constants, which are f32 now.
  void replace() const {
    for (const auto& [node, input] : found_) {
      Value* v = node->input(input);
      if (!v || !v->is_constant() || v->dtype() != DType::f32) continue;
      std::vector<double> values = v->constant().to_doubles();
      bool any = false;
      for (double& x : values) {
        if (std::abs(x) != kLargestHalf) continue;
        x = std::copysign(kMasked, x);
        any = true;
      }
      if (any)
        node->set_input(input,
                        node->graph().add_constant("", tensor_of(DType::f32, v->shape(), values)));
    }
  }

 private:
  void visit(Node& n, size_t input) {
    const Value* v = n.input(input);
    if (!v || v->dtype() != type_) return;
    if (v->is_constant()) found_.emplace_back(&n, input);
    if (v->producer() && seen_.insert(v->producer()).second) open_.push_back(v->producer());
  }

  const DType type_;
  std::unordered_set<const Node*> seen_;
  std::vector<Node*> open_;  // nodes whose inputs are not visited yet
  std::vector<std::pair<Node*, size_t>> found_;
};

void widen(Graph& graph, const Half& half) {
  const MaskConstants masks(graph, half.dtype);
  std::vector<Value*> inputs;
  std::vector<size_t> outputs;
  for (Value* v : graph.inputs())
    if (v->dtype() == half.dtype) inputs.push_back(v);
  for (size_t i = 0; i < graph.outputs().size(); i++)
    if (graph.outputs()[i]->dtype() == half.dtype) outputs.push_back(i);
  retype(graph, {.from = half.dtype,
                 .to = DType::f32,
                 .onnx_from = half.onnx,
                 .onnx_to = 1,
                 // BitCast reads the bits of the half. Plug-ins may compute in half precision.
                 .accepts =
                     [](const Node& n) {
                       const plugins::OperatorRef custom = ops::custom_op_of(n);
                       return !n.is("BitCast") &&
                              !(custom && custom.op->flags & POPRT_OPERATOR_HALF);
                     },
                 .keeps = [](const ir::Use&) { return false; },
                 .convert =
                     [](const Tensor& t, const std::string&) {
                       return tensor_of(DType::f32, t.shape(), t.to_doubles());
                     }});
  if (half.dtype == DType::f16) masks.replace();
  // Inputs and outputs keep the type that the model declares.
  for (Value* v : inputs) {
    const std::vector<ir::Use> uses = v->uses();
    v->type.dtype = half.dtype;
    const std::vector<Node*> nodes = graph.nodes();
    Node* cast = graph.add_node("Cast", "", {v}, 1, nodes.empty() ? nullptr : nodes.front());
    cast->attributes["to"] = int64_t{1};
    ops::infer(*cast);
    for (const ir::Use& u : uses) u.node->set_input(u.input, cast->output());
    for (size_t i = 0; i < graph.outputs().size(); i++)
      // An input that is also an output already has the declared type.
      if (graph.outputs()[i] == v) std::erase(outputs, i);
  }
  for (const size_t i : outputs) {
    Value* wide = graph.outputs()[i];
    const std::string name = wide->name();
    Node* cast = graph.add_node("Cast", "", {wide});
    cast->attributes["to"] = half.onnx;
    ops::infer(*cast);
    graph.set_output(i, cast->output());
    // If the value is also another output, the Cast of that one gets the name.
    if (graph.is_output(wide)) continue;
    graph.rename(wide, name + "_wide");
    graph.rename(cast->output(), name);
  }
}

void run(Graph& graph, PassContext& context) {
  for (const Half& half : kHalves) {
    bool any = false;
    for_each_graph(graph, [&](Graph& g) {
      for (const Value* v : g.values()) any |= v->dtype() == half.dtype;
    });
    if (any && context.allow()) widen(graph, half);
  }
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "compute_half_in_float",
    .summary = "computes f16 and bf16 graphs in f32; inputs and outputs keep their type",
    .condition =
        "f16 or bf16 values inside the graph; they keep f32 precision between operators, which is "
        "at least as exact as rounding each",
    .numerics = Numerics::precision,
    .run = run};

}  // namespace poprt::passes::compute_half_in_float_pass
