// The `activation` attribute of FusedConv and FusedGemm.
#pragma once

#include <limits>

#include "ops/common/expansion.h"

namespace poprt::ops {

// Applies the activation; "" is none. `parameters` are activation_params of FusedConv: alpha and
// beta, as many as given.
inline ir::Value* activate(Expansion& e, ir::Value* x, const std::string& name,
                           const std::vector<float>& parameters) {
  const auto parameter = [&](size_t i, float fallback) {
    return i < parameters.size() ? parameters[i] : fallback;
  };
  if (name.empty()) return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "Softplus" ||
      name == "Softsign")
    return e.add(name, {x});
  if (name == "LeakyRelu") return e.add(name, {x}, {{"alpha", parameter(0, 0.01f)}});
  if (name == "Elu") return e.add(name, {x}, {{"alpha", parameter(0, 1.0f)}});
  if (name == "ThresholdedRelu") return e.add(name, {x}, {{"alpha", parameter(0, 1.0f)}});
  if (name == "Selu")
    return e.add(name, {x},
                 {{"alpha", parameter(0, 1.67326319217681884765625f)},
                  {"gamma", parameter(1, 1.05070102214813232421875f)}});
  if (name == "HardSigmoid")
    return e.add(name, {x}, {{"alpha", parameter(0, 0.2f)}, {"beta", parameter(1, 0.5f)}});
  if (name == "Clip") {
    const float low = parameter(0, std::numeric_limits<float>::lowest());
    const float high = parameter(1, std::numeric_limits<float>::max());
    return e.newest("Clip", {x, e.number(x->dtype(), static_cast<double>(low)),
                             e.number(x->dtype(), static_cast<double>(high))});
  }
  e.fail_unsupported(
      "activation '{}', expected Relu, Tanh, Sigmoid, LeakyRelu, Elu, Selu, ThresholdedRelu, "
      "Softplus, Softsign, HardSigmoid or Clip",
      name);
}

}  // namespace poprt::ops
