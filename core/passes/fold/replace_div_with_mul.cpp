#include <cmath>

#include "passes/common/rewrite.h"

namespace poprt::passes::replace_div_with_mul_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Returns the reciprocal of a constant. It is exact for powers of two. Otherwise a product with the
// rounded reciprocal differs from the quotient by at most 1.5 ulp. This is accepted for f32 (1.8e-7
// relative) and f64, but not for f16 (1.5e-3) and bf16 (1.2e-2).
std::optional<Tensor> reciprocal(const Value* v) {
  if (!v->is_constant() || !is_plain_float(v->dtype())) return std::nullopt;
  const bool narrow = v->dtype() == DType::f16 || v->dtype() == DType::bf16;
  std::vector<double> values = v->constant().to_doubles();
  for (double& x : values) {
    int exponent;
    const bool power_of_two = std::abs(std::frexp(x, &exponent)) == 0.5;
    if (narrow ? !power_of_two || std::abs(exponent) > 12
               : !(std::abs(x) > 1e-30 && std::abs(x) < 1e30))
      return std::nullopt;
    x = 1 / x;
  }
  return tensor_of(v->dtype(), v->shape(), values);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Div")) return;
    auto factor = reciprocal(n.input(1));
    if (!factor || !context.allow()) return;
    Value* c = n.graph().add_constant(n.input(1)->name() + "_reciprocal", std::move(*factor));
    replace_node(n, insert_node(n, "Mul", "", {n.input(0), c})->output());
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "replace_div_with_mul",
    .summary = "replaces division by a constant by multiplication with its reciprocal",
    .condition =
        "the divisor is a constant whose reciprocal is finite and normal; exact for powers of two",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::replace_div_with_mul_pass
