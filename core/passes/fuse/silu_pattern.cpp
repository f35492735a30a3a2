#include "passes/common/rewrite.h"

namespace poprt::passes::silu_pattern_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Mul")) return;
    const DType dtype = n.output()->dtype();
    if (!is_plain_float(dtype) || dtype == DType::f64) return;
    for (size_t side = 0; side < 2; side++) {
      Value* x = n.input(side);
      const Node* gate = producer_if(n.input(1 - side), "Sigmoid");
      // A constant of more dimensions changes the rank of the gate and the product, so the shapes
      // must match.
      if (!gate || !same_static_shape(x, n.output())) continue;
      double alpha = 1;
      if (gate->input(0) != x) {
        const Product p = factors_of(gate->input(0));
        if (p.factors.size() != 1 || p.factors[0] != x) continue;
        alpha = p.scale;
      }
      if (!context.allow()) return;
      replace_node(
          n,
          insert_node(n, "Silu", "poprt", {x}, {{"alpha", static_cast<float>(alpha)}})->output());
      return;
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "silu_pattern",
    .summary = "fuses x * sigmoid(a x)",
    .condition = "x and the result have one static shape; a scaled x has no other reader",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::silu_pattern_pass
