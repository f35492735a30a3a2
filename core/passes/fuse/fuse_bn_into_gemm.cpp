#include "passes/common/batch_normalization.h"

namespace poprt::passes::fuse_bn_into_gemm_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void fuse(Node& bn, PassContext& context) {
  Node* gemm = sole_producer_of(bn.input(0), "Gemm");
  Node* matmul = gemm ? nullptr : sole_producer_of(bn.input(0), "MatMul");
  Node* product = gemm ? gemm : matmul;
  // Channels are dimension 1, so the input must be a matrix and its columns are the channels.
  if (!product || bn.input(0)->shape().size() != 2 || !single_use(product->input(1)) ||
      !product->input(1)->is_constant())
    return;
  const Tensor& weight = product->input(1)->constant();
  if (!is_plain_float(weight.dtype()) || weight.shape().size() != 2) return;
  const bool by_row = gemm && gemm->int_attr("transB", 0) != 0;
  const int64_t channels = weight.shape()[by_row ? 0 : 1];
  const Value* old_bias = gemm ? gemm->input(2) : nullptr;
  if (old_bias && !is_constant_floats(old_bias, channels)) return;
  if (old_bias && (old_bias->shape().empty() || old_bias->shape().back() != channels)) return;
  if (!is_foldable_norm(bn, channels) || !context.allow()) return;

  const ChannelNorm norm = channel_norm_of(bn);
  const auto columns = static_cast<size_t>(channels);
  const double alpha = gemm ? static_cast<double>(gemm->float_attr("alpha", 1)) : 1;
  const double beta = gemm ? static_cast<double>(gemm->float_attr("beta", 1)) : 1;
  std::vector<double> bias =
      old_bias ? old_bias->constant().to_doubles() : std::vector<double>(columns, 0.0);
  std::vector<double> w = weight.to_doubles();
  for (size_t c = 0; c < columns; c++) bias[c] = norm.apply(beta * bias[c], c);
  const size_t inner = by_row && columns ? w.size() / columns : 1;
  for (size_t i = 0; i < w.size(); i++)
    w[i] *= alpha * norm.factor[by_row ? i / inner : i % columns];

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
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("BatchNormalization")) fuse(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "fuse_bn_into_gemm",
    .summary = "folds BatchNormalization into the weights of Gemm and MatMul",
    .condition = "statistics and weights are constant, and the product has no other reader",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::fuse_bn_into_gemm_pass
