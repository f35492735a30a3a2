#include "passes/common/rewrite.h"

namespace poprt::passes::fuse_mul_into_matmul_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void fuse(Node& mul, PassContext& context) {
  for (size_t side = 0; side < 2; side++) {
    Node* matmul = sole_producer_of(mul.input(side), "MatMul");
    const Value* factor = mul.input(1 - side);
    if (!matmul || !factor->is_constant() || !is_plain_float(factor->dtype())) continue;
    const Value* weight = matmul->input(1);
    if (!weight->is_constant() || !single_use(weight) || weight->shape().size() != 2) continue;
    // The factor must have one element, or one per column.
    const int64_t columns = weight->shape()[1], count = factor->constant().count();
    const bool per_column =
        count == columns && !factor->shape().empty() && factor->shape().back() == columns;
    if (count != 1 && !per_column) continue;
    if (!same_static_shape(matmul->output(), mul.output())) continue;
    if (!context.allow()) return;
    const std::vector<double> f = factor->constant().to_doubles();
    std::vector<double> w = weight->constant().to_doubles();
    for (size_t i = 0; i < w.size(); i++) w[i] *= f[i % f.size()];
    matmul->set_input(1, mul.graph().add_constant(weight->name() + "_scaled",
                                                  tensor_of(weight->dtype(), weight->shape(), w)));
    replace_node(mul, matmul->output());
    return;
  }
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("Mul")) fuse(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "fuse_mul_into_matmul",
                     .summary = "folds a constant factor of MatMul into its constant weights",
                     .condition =
                         "the factor is a constant number or has one element per column, and the "
                         "weights are constant",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::fuse_mul_into_matmul_pass
