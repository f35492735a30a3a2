#include "passes/common/build.h"

namespace poprt::passes::replace_pow_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Pow") || !same_static_shape(n.input(0), n.output())) return;
    const auto exponent = const_scalar(n.input(1));
    const bool inverse = exponent == -1 && is_plain_float(n.output()->dtype());
    if (!exponent || (*exponent != 2 && *exponent != 3 && *exponent != 4 && !inverse) ||
        !context.allow())
      return;
    Value* x = n.input(0);
    Value* result =
        computed(n, inverse ? "Reciprocal" : "Mul",
                 inverse ? std::initializer_list<Value*>{x} : std::initializer_list<Value*>{x, x});
    if (exponent == 3) result = computed(n, "Mul", {result, x});
    if (exponent == 4) result = computed(n, "Mul", {result, result});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_pow",
                     .summary = "replaces x ** 2, 3 and 4 by products and x ** -1 by Reciprocal",
                     .condition = "the exponent is a constant number",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::replace_pow_pass
