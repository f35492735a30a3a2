#include "passes/build.h"
#include "passes/products.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The constant factor of the scores that the node makes of a product.
std::optional<double> factor_of(const Node& n) {
  if (n.is("Mul")) return const_scalar(n.input(const_scalar(n.input(1)) ? 1 : 0));
  const auto divisor = n.is("Div") ? const_scalar(n.input(1)) : std::nullopt;
  if (!divisor || *divisor == 0) return std::nullopt;
  return 1 / *divisor;
}

Value* scaled(Graph& g, const Value* v, double factor) {
  std::vector<double> values = v->constant().to_doubles();
  for (double& x : values) x *= factor;
  return g.add_constant(v->name() + "_scaled", tensor_of(v->dtype(), v->shape(), values));
}

void scale_projection(const Projection& p, double factor) {
  Graph& g = p.matmul->graph();
  const std::vector<Value*> old{p.weight(), p.bias};
  p.matmul->set_input(1, scaled(g, p.weight(), factor));
  if (p.bias) p.add->set_input(p.add->input(0) == p.bias ? 0 : 1, scaled(g, p.bias, factor));
  for (Value* v : old)
    if (v && !is_used(v)) v->graph().erase_value(v);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    const auto factor = factor_of(n);
    if (!factor || !is_plain_float(n.output()->dtype())) return;
    Value* scores = n.input(const_scalar(n.input(0)) ? 1 : 0);
    const Node* product = sole_producer_of(scores, "MatMul");
    if (!product || product->input(1)->is_constant() || !same_static_shape(scores, n.output()))
      return;
    const auto q = projection_behind(product->input(0));
    if (!q || !can_bypass(n.output(), scores) || !context.allow()) return;
    scale_projection(*q, *factor);
    bypass(n.output(), scores);
  });
}

}  // namespace

extern const PassDef pre_scale_pass;
const PassDef pre_scale_pass = {
    .name = "pre_scale",
    .summary = "folds the factor of attention scores into the projection to q",
    .condition =
        "the scores are a product of two computed values, the first of them a MatMul (and Add) "
        "with constant weights, reordered",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes
