#include "passes/common/build.h"

namespace poprt::passes::replace_gemm_with_matmul_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* scaled(Node& n, Value* v, float factor, const char* name) {
  if (factor == 1) return v;
  Value* c =
      add_scalar(n.graph(), n.output()->name() + name, v->dtype(), static_cast<double>(factor));
  return computed(n, "Mul", {v, c});
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Gemm") || !n.output()->type.has_shape || !context.allow()) return;
    Value *a = n.input(0), *b = n.input(1);
    if (n.int_attr("transA", 0) != 0) a = transposed(n, a, {1, 0});
    if (n.int_attr("transB", 0) != 0) b = transposed(n, b, {1, 0});
    Value* result = scaled(n, computed(n, "MatMul", {a, b}), n.float_attr("alpha", 1), "_alpha");
    if (n.input(2))
      result =
          computed(n, "Add", {result, scaled(n, n.input(2), n.float_attr("beta", 1), "_beta")});
    replace_outputs(n, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "replace_gemm_with_matmul",
    .summary = "replaces Gemm by MatMul, with Transpose, factors and Add as needed",
    .condition = "none",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::replace_gemm_with_matmul_pass
