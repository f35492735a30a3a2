#include "passes/common/build.h"
#include "passes/common/products.h"

namespace poprt::passes::pre_scale_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The constant factor by which the node scales a product to scores.
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

// Finds the projection that takes the factor: the one to q before scores, or the one from which the
// scaled value is computed.
std::optional<Projection> target_of(Value* scaled_value, Value* result) {
  if (const Node* product = sole_producer_of(scaled_value, "MatMul");
      product && !product->input(1)->is_constant())
    return find_projection(product->input(0));
  for (const Node* reader = ir::single_reader(result); reader;
       reader = ir::single_reader(reader->output())) {
    if (reader->is("MatMul"))
      return !reader->input(0)->is_constant() && !reader->input(1)->is_constant()
                 ? find_projection(scaled_value)
                 : std::nullopt;
    if (!reader->is("Reshape") && !reader->is("Transpose") && !factor_of(*reader)) break;
  }
  return std::nullopt;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    const auto factor = factor_of(n);
    if (!factor || !is_plain_float(n.output()->dtype())) return;
    Value* v = n.input(const_scalar(n.input(0)) ? 1 : 0);
    if (!same_static_shape(v, n.output())) return;
    const auto p = target_of(v, n.output());
    if (!p || !can_bypass(n.output(), v) || !context.allow()) return;
    scale_projection(*p, *factor);
    bypass(n.output(), v);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "pre_scale",
    .summary =
        "folds the factor of attention scores into the projection to q or to the other scaled "
        "operand",
    .condition =
        "a constant number times a product of two computed values, or times one of them; the "
        "projection is a MatMul (and Add) with constant weights, reordered, without other readers",
    .numerics = Numerics::rounding,
    .run = run,
    .before = {"fused_attention"}};

}  // namespace poprt::passes::pre_scale_pass
