#include "ops/common/fused_activation.h"

#include <array>

namespace poprt::ops {
namespace {

constexpr std::array<std::string_view, kernels::kActivationCount> kNames = {
    "",         "relu",      "clip",       "sigmoid",      "tanh",       "silu",
    "gelu_erf", "gelu_tanh", "leaky_relu", "hard_sigmoid", "hard_swish", "elu"};

}  // namespace

std::optional<kernels::Activation> activation_from_name(std::string_view name) {
  if (name == "none") return kernels::Activation::none;
  for (size_t i = 0; i < kNames.size(); i++)
    if (kNames[i] == name) return static_cast<kernels::Activation>(i);
  return std::nullopt;
}

std::string_view activation_name(kernels::Activation activation) {
  return kNames.at(static_cast<size_t>(activation));
}

FusedActivation fused_activation(const ir::Node& node) {
  const std::string name = node.string_attr("activation", "");
  const auto kind = activation_from_name(name);
  if (!kind)
    fail(ErrorCode::invalid_argument, "{}: unknown activation '{}'", node.describe(), name);
  const float a = *kind == kernels::Activation::silu ? 1.0f : 0.0f;
  return {static_cast<int64_t>(*kind), node.float_attr("alpha", a), node.float_attr("beta", 0.0f)};
}

}  // namespace poprt::ops
