#include <cmath>

#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool constant_floats(const Value* v, int64_t count) {
  return v && v->is_constant() && is_plain_float(v->dtype()) && v->constant().count() == count;
}

bool fuse(Node& bn, PassContext& context) {
  Node* gemm = sole_producer_of(bn.input(0), "Gemm");
  Node* matmul = gemm ? nullptr : sole_producer_of(bn.input(0), "MatMul");
  Node* product = gemm ? gemm : matmul;
  // Channels are dimension 1: the columns of a matrix, nothing else.
  if (!product || bn.input(0)->shape().size() != 2 || !single_use(product->input(1)) ||
      !product->input(1)->is_constant())
    return false;
  const Tensor& weight = product->input(1)->constant();
  if (!is_plain_float(weight.dtype()) || weight.shape().size() != 2) return false;
  const bool by_row = gemm && gemm->int_attr("transB", 0) != 0;
  const int64_t channels = weight.shape()[by_row ? 0 : 1];
  for (size_t i = 1; i <= 4; i++)
    if (!constant_floats(bn.input(i), channels)) return false;
  const Value* old_bias = gemm ? gemm->input(2) : nullptr;
  if (old_bias && !constant_floats(old_bias, channels)) return false;
  if (old_bias && (old_bias->shape().empty() || old_bias->shape().back() != channels)) return false;
  if (bn.int_attr("training_mode", 0) != 0 || bn.int_attr("spatial", 1) == 0) return false;
  for (size_t i = 1; i < bn.outputs().size(); i++)
    if (is_used(bn.output(i))) return false;
  if (!context.allow()) return false;

  const std::vector<double> scale = bn.input(1)->constant().to_doubles(),
                            shift = bn.input(2)->constant().to_doubles(),
                            mean = bn.input(3)->constant().to_doubles(),
                            variance = bn.input(4)->constant().to_doubles();
  const auto columns = static_cast<size_t>(channels);
  const double alpha = gemm ? static_cast<double>(gemm->float_attr("alpha", 1)) : 1;
  const double beta = gemm ? static_cast<double>(gemm->float_attr("beta", 1)) : 1;
  std::vector<double> bias =
      old_bias ? old_bias->constant().to_doubles() : std::vector<double>(columns, 0.0);
  std::vector<double> factor(columns), w = weight.to_doubles();
  const double epsilon = static_cast<double>(bn.float_attr("epsilon", 1e-5f));
  for (size_t c = 0; c < columns; c++) {
    factor[c] = scale[c] / std::sqrt(variance[c] + epsilon);
    bias[c] = (beta * bias[c] - mean[c]) * factor[c] + shift[c];
  }
  const size_t inner = by_row && columns ? w.size() / columns : 1;
  for (size_t i = 0; i < w.size(); i++) w[i] *= alpha * factor[by_row ? i / inner : i % columns];

  Graph& g = bn.graph();
  const std::string name = product->input(1)->name();
  Value* new_weight = g.add_constant(name + "_bn", tensor_of(weight.dtype(), weight.shape(), w));
  Value* new_bias = g.add_constant(name + "_bn_bias", tensor_of(weight.dtype(), {channels}, bias));
  product->set_input(1, new_weight);
  if (gemm) {
    gemm->set_input(2, new_bias);
    gemm->attributes.erase("alpha");
    gemm->attributes.erase("beta");
    replace_node(bn, gemm->output());
  } else {
    replace_node(bn, insert_node(bn, "Add", "", {matmul->output(), new_bias})->output());
  }
  return true;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("BatchNormalization")) fuse(n, context);
  });
}

}  // namespace

extern const PassDef fuse_bn_into_gemm_pass;
const PassDef fuse_bn_into_gemm_pass = {
    .name = "fuse_bn_into_gemm",
    .summary = "folds BatchNormalization into the weights of Gemm and MatMul",
    .run = run};

}  // namespace poprt::passes
