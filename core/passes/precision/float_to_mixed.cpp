// Converts Conv, MatMul and Gemm to f16. Inputs, outputs and all other operators stay f32. Some of
// them are sensitive to a short mantissa or range: normalisations, Softmax and sums.
#include <algorithm>
#include <cmath>

#include "ops/op.h"
#include "passes/common/rewrite.h"
#include "passes/common/weighted_products.h"

namespace poprt::passes::float_to_mixed_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr int64_t kF32 = 1, kF16 = 10;
constexpr double kLargest = 65500;  // the limit of float_to_half

Value* half_of(Node& at, Value* v) {
  if (!v->is_constant()) return insert_node(at, "Cast", "", {v}, {{"to", kF16}})->output();
  std::vector<double> values = v->constant().to_doubles();
  for (double& x : values)
    if (std::isfinite(x)) x = std::clamp(x, -kLargest, kLargest);
  return at.graph().add_constant(v->name() + "_half", tensor_of(DType::f16, v->shape(), values));
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Conv") && !n.is("MatMul") && !n.is("Gemm")) return;
    if (n.output()->dtype() != DType::f32 || !context.allow()) return;
    for (size_t i = 0; i < n.inputs().size(); i++)
      if (n.input(i)) n.set_input(i, half_of(n, n.input(i)));
    const std::string name = n.output()->name();
    Value* old = n.output();
    const bool was_output = n.graph().is_output(old);
    const std::vector<Node*> nodes = n.graph().nodes();
    const auto here = std::ranges::find(nodes, &n);
    Node* next = here + 1 == nodes.end() ? nullptr : *(here + 1);
    Node* wide = n.graph().add_node("Cast", "", std::span<Value* const>(), 1, next);
    wide->attributes["to"] = kF32;
    n.graph().replace_all_uses(old, wide->output());
    wide->set_input(0, old);
    old->type.dtype = DType::f16;
    ops::infer(n);
    ops::infer(*wide);
    if (was_output) return;
    n.graph().rename(old, name + "_half");
    n.graph().rename(wide->output(), name);
  });
  pass_of("eliminate_unused_initializer").run(graph, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "float_to_mixed",
    .summary = "computes Conv, MatMul and Gemm in f16 and other operators in f32",
    .condition = "products of f32: f16 precision and range of their operands and results",
    .numerics = Numerics::precision,
    .run = run};

}  // namespace poprt::passes::float_to_mixed_pass
