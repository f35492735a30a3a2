#include <algorithm>

#include "base/checked.h"
#include "passes/common/batch_normalization.h"

namespace poprt::passes::fuse_bn_into_conv_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Multiplies each output channel of the weight by its factor: rows of [M, C/group, ...], or columns
// of [C, M/group, ...] if transposed. Products are computed in f64 and then rounded.
Tensor scaled(const Tensor& weight, std::span<const double> factor, bool transposed,
              int64_t group) {
  const Shape& shape = weight.shape();
  if (weight.count() == 0) return weight;
  const auto rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]);
  const size_t inner = static_cast<size_t>(weight.count()) / rows / columns;
  const size_t rows_per_group = std::max<size_t>(rows / static_cast<size_t>(group), 1);
  const auto factor_of = [&](size_t row, size_t column) {
    return transposed ? factor[row / rows_per_group * columns + column] : factor[row];
  };
  if (weight.dtype() == DType::f32) {  // the common case, without conversion to doubles
    Tensor out = Tensor::zeros(DType::f32, shape);
    const float* from = weight.values<float>().data();
    float* to = out.mutable_values<float>().data();
    // A row has one factor unless the weight is transposed.
    const size_t run = transposed ? inner : columns * inner, runs = transposed ? columns : 1;
    for (size_t r = 0; r < rows; r++)
      for (size_t c = 0; c < runs; c++, from += run, to += run) {
        const double f = factor_of(r, c);
        for (size_t i = 0; i < run; i++)
          to[i] = static_cast<float>(static_cast<double>(from[i]) * f);
      }
    return out;
  }
  std::vector<double> w = weight.to_doubles();
  for (size_t i = 0; i < w.size(); i++) w[i] *= factor_of(i / inner / columns, i / inner % columns);
  return tensor_of(weight.dtype(), shape, w);
}

void fuse(Node& bn, PassContext& context) {
  Node* conv = sole_producer_of(bn.input(0), "Conv");
  const bool transposed = !conv;
  if (!conv) conv = sole_producer_of(bn.input(0), "ConvTranspose");
  if (!conv || !conv->input(1) || !conv->input(1)->is_constant()) return;
  const Tensor& weight = conv->input(1)->constant();
  if (!is_plain_float(weight.dtype()) || weight.shape().size() < 3) return;
  const int64_t group = conv->int_attr("group", 1);
  const int64_t channels = transposed ? checked_mul(weight.shape()[1], group) : weight.shape()[0];
  const Value* old_bias = conv->input(2);
  if (old_bias && !is_constant_floats(old_bias, channels)) return;
  if (!is_foldable_norm(bn, channels) || !context.allow()) return;

  const ChannelNorm norm = channel_norm_of(bn);
  const auto count = static_cast<size_t>(channels);
  std::vector<double> bias =
      old_bias ? old_bias->constant().to_doubles() : std::vector<double>(count, 0.0);
  for (size_t c = 0; c < count; c++) bias[c] = norm.apply(bias[c], c);
  Graph& g = bn.graph();
  const std::string name = conv->input(1)->name();
  conv->set_input(1, g.add_constant(name + "_bn", scaled(weight, norm.factor, transposed, group)));
  conv->set_input(2,
                  g.add_constant(name + "_bn_bias", tensor_of(weight.dtype(), {channels}, bias)));
  replace_node(bn, conv->output());
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("BatchNormalization")) fuse(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "fuse_bn_into_conv",
    .summary = "folds BatchNormalization into the weights of Conv and ConvTranspose",
    .condition = "statistics and weights are constant, and the convolution has no other reader",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::fuse_bn_into_conv_pass
