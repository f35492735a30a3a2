#include <numbers>

#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// x where v = 1 + erf(x / sqrt 2).
Value* argument(const Value* v) {
  const Node* add = producer_if(v, "Add");
  if (!add) return nullptr;
  for (size_t side = 0; side < 2; side++) {
    const Node* erf = producer_if(add->input(side), "Erf");
    if (!erf || !is_scalar(add->input(1 - side), 1)) continue;
    const Product p = factors_of(erf->input(0));
    if (p.factors.size() == 1 && near(p.scale, 1 / std::numbers::sqrt2, v->dtype()))
      return p.factors[0];
  }
  return nullptr;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Mul") && !n.is("Div")) return;
    const DType dtype = n.output()->dtype();
    if (!is_plain_float(dtype) || dtype == DType::f64) return;
    // x * 1/2 * (1 + erf(x / sqrt 2)) in any order.
    const Product p = factors_of(n);
    if (p.factors.size() != 2 || !near(p.scale, 0.5, dtype)) return;
    for (size_t side = 0; side < 2; side++) {
      Value* x = argument(p.factors[side]);
      if (!x || x != p.factors[1 - side] || !same_static_shape(x, n.output()) || !context.allow())
        continue;
      replace_node(n, insert_node(n, "Gelu", "poprt", {x}, {{"approximate", "none"}})->output());
      return;
    }
  });
}

}  // namespace

extern const PassDef erf_gelu_pattern_pass;
const PassDef erf_gelu_pattern_pass = {.name = "erf_gelu_pattern",
                                       .summary = "recognises GELU written with Erf",
                                       .condition = "every value in between has no other reader",
                                       .numerics = Numerics::rounding,
                                       .run = run,
                                       .before = {"replace_erf_with_erfv2"}};

}  // namespace poprt::passes
