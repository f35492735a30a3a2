// Makes f16 and bf16 graphs compute in f32, because the fast emulator does. Weights, inputs and
// outputs are stored in half precision. The results are at least as accurate as those of the chip,
// which rounds more often.
#include <array>
#include <unordered_map>

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

void widen(Graph& graph, const Half& half) {
  std::vector<Value*> inputs;
  std::vector<size_t> outputs;
  for (Value* v : graph.inputs())
    if (v->dtype() == half.dtype) inputs.push_back(v);
  for (size_t i = 0; i < graph.outputs().size(); i++)
    if (graph.outputs()[i]->dtype() == half.dtype) outputs.push_back(i);
  retype(graph,
         {.from = half.dtype,
          .to = DType::f32,
          .onnx_from = half.onnx,
          .onnx_to = 1,
          // BitCast reads the bits of the half. Plug-ins may compute in half precision.
          .accepts =
              [](const Node& n) {
                const plugins::OperatorRef custom = ops::custom_op_of(n);
                return !n.is("BitCast") && !(custom && custom.op->flags & POPRT_OPERATOR_HALF);
              },
          .keeps = [](const ir::Use&) { return false; },
          .convert =
              [](const Tensor& t) { return tensor_of(DType::f32, t.shape(), t.to_doubles()); }});
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
      // an input that is an output already has the right type
      if (graph.outputs()[i] == v) std::erase(outputs, i);
  }
  for (const size_t i : outputs) {
    Value* wide = graph.outputs()[i];
    const std::string name = wide->name();
    Node* cast = graph.add_node("Cast", "", {wide});
    cast->attributes["to"] = half.onnx;
    ops::infer(*cast);
    graph.set_output(i, cast->output());
    // the value is an output twice; the other one still has the name
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
