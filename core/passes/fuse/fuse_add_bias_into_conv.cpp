#include "passes/common/rewrite.h"

namespace poprt::passes::fuse_add_bias_into_conv_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Returns the constant as one value per channel, if it has one element or one per channel
// (dimension 1 of `rank` dimensions).
std::optional<std::vector<double>> per_channel(const Value* v, int64_t channels, size_t rank) {
  if (!v->is_constant() || !is_plain_float(v->dtype()) || v->shape().size() > rank)
    return std::nullopt;
  if (v->constant().count() == 1)
    return std::vector<double>(static_cast<size_t>(channels), v->constant().to_doubles()[0]);
  Shape shape(rank - v->shape().size(), 1);
  shape.insert(shape.end(), v->shape().begin(), v->shape().end());
  for (size_t i = 0; i < rank; i++)
    if (shape[i] != (i == 1 ? channels : 1)) return std::nullopt;
  return v->constant().to_doubles();
}

void fuse(Node& add, PassContext& context) {
  for (size_t side = 0; side < 2; side++) {
    Node* conv = sole_producer_of(add.input(side), "Conv");
    if (!conv) conv = sole_producer_of(add.input(side), "ConvTranspose");
    if (!conv || !conv->output()->type.has_shape) continue;
    const size_t rank = conv->output()->shape().size();
    if (rank < 3 || conv->output()->shape()[1] < 0) continue;
    const int64_t channels = conv->output()->shape()[1];
    auto bias = per_channel(add.input(1 - side), channels, rank);
    if (!bias) continue;
    if (const Value* old = conv->input(2)) {
      if (!old->is_constant() || old->constant().count() != channels) continue;
      const std::vector<double> values = old->constant().to_doubles();
      for (size_t i = 0; i < values.size(); i++) (*bias)[i] += values[i];
    }
    if (!context.allow()) return;
    conv->set_input(
        2, add.graph().add_constant(conv->output()->name() + "_bias",
                                    tensor_of(conv->output()->dtype(), {channels}, *bias)));
    replace_node(add, conv->output());
    return;
  }
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("Add")) fuse(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "fuse_add_bias_into_conv",
    .summary =
        "merges a constant that is added per channel into the bias of Conv and ConvTranspose",
    .condition = "the constant has one value per channel, and the convolution has no other reader",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::fuse_add_bias_into_conv_pass
