#include "passes/common/weighted_products.h"

#include "passes/common/rewrite.h"

namespace poprt::passes {
namespace {

// Returns the value that a Cast from f16 or bf16 widens to f32, or the value itself.
ir::Value* before_widening(ir::Value* v) {
  ir::Node* cast = v->producer();
  if (!cast || !cast->is("Cast") || v->dtype() != DType::f32) return v;
  const DType from = cast->input(0)->dtype();
  return from == DType::f16 || from == DType::bf16 ? cast->input(0) : v;
}

bool is_product_weight(const ir::Value* v) {
  return v->is_constant() && v->shape().size() >= 2 &&
         (v->dtype() == DType::f32 || v->dtype() == DType::f16 || v->dtype() == DType::bf16);
}

}  // namespace

std::vector<float> to_floats(const Tensor& tensor) {
  if (tensor.dtype() == DType::f32) {
    const auto values = tensor.values<float>();
    return {values.begin(), values.end()};
  }
  const std::vector<double> values = tensor.to_doubles();
  return {values.begin(), values.end()};
}

void for_each_product(ir::Graph& graph, const std::function<void(WeightedProduct&)>& visit) {
  for_each_node(graph, [&](ir::Node& n) {
    const bool conv = n.is("Conv"), gemm = n.is("Gemm");
    if (!conv && !gemm && !n.is("MatMul")) return;
    if (!n.input(0) || !n.input(1) || (gemm && n.int_attr("transA", 0) != 0)) return;
    WeightedProduct p{&n, before_widening(n.input(0)), before_widening(n.input(1))};
    if (!is_product_weight(p.weight) || p.data->is_constant()) return;
    const auto rank = static_cast<int64_t>(p.weight->shape().size());
    const bool transposed = gemm && n.int_attr("transB", 0) != 0;
    p.input_channels = conv || transposed ? 1 : rank - 2;
    p.output_axis = conv || transposed ? 0 : rank - 1;
    visit(p);
  });
}

}  // namespace poprt::passes
