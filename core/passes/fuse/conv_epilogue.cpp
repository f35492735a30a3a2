#include <string_view>

#include "passes/common/fuse_epilogue.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::conv_epilogue_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr size_t kBias = 2, kResidual = 3;

// Returns a constant [1, CB, 1, 1, 16] or a scalar as one value per channel.
std::optional<std::vector<double>> per_channel(const Value* v, size_t channels) {
  if (!v->is_constant() || v->dtype() != DType::f32) return std::nullopt;
  std::vector<double> values = v->constant().to_doubles();
  if (values.size() == 1) return std::vector<double>(channels, values[0]);
  const Shape& s = v->shape();
  if (s.size() != 5 || s[0] != 1 || s[2] != 1 || s[3] != 1 || s[4] != 16 ||
      values.size() < channels)
    return std::nullopt;
  values.resize(channels);
  return values;
}

bool fuse_bias(Node& add, std::string_view op_type, PassContext& context) {
  if (!add.is("Add")) return false;
  for (size_t side = 0; side < 2; side++) {
    Node* conv = sole_producer_of(add.input(side), op_type, "poprt");
    if (!conv || !can_take_bias(*conv, op_type == "Conv" ? kResidual : kNoResidual) ||
        !conv->input(1)->is_constant() || !same_static_shape(conv->output(), add.output()))
      continue;
    const Shape& w = conv->input(1)->shape();
    const int64_t channels = op_type == "Conv" ? w[0] : w[1] * conv->int_attr("group", 1);
    auto bias = per_channel(add.input(1 - side), static_cast<size_t>(channels));
    if (!bias) continue;
    if (const Value* old = conv->input(kBias)) {
      if (!old->is_constant()) continue;
      const std::vector<double> more = old->constant().to_doubles();
      for (size_t i = 0; i < bias->size(); i++) (*bias)[i] += more[i];
    }
    if (!context.allow()) return false;
    conv->set_input(kBias, add.graph().add_constant(add.output()->name() + "_bias",
                                                    tensor_of(DType::f32, {channels}, *bias)));
    absorb(*conv, add);
    return true;
  }
  return false;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (fuse_bias(n, "Conv", context) || fuse_bias(n, "ConvTranspose", context) ||
        fuse_residual(n, "Conv", kResidual, context) || fuse_activation(n, "Conv", context))
      return;
    fuse_activation(n, "ConvTranspose", context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "conv_epilogue",
    .summary = "merges bias, activation and residual into blocked convolutions",
    .condition =
        "the convolution has no other reader; the residual has exactly the shape of the result",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::conv_epilogue_pass
