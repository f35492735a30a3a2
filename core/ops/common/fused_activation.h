// The `activation`, `alpha` and `beta` attributes of internal operators.
#pragma once

#include <optional>
#include <string_view>

#include "ir/graph.h"
#include "kernels/calls/common/epilogue.h"

namespace poprt::ops {

struct FusedActivation {
  int64_t kind = 0;  // kernels::Activation
  float a = 0, b = 0;
};

// Parses the name of a kernels::Activation: "relu", "gelu_erf" ...; "" and "none" are none.
std::optional<kernels::Activation> activation_from_name(std::string_view name);
std::string_view activation_name(kernels::Activation activation);

// The epilogue for the kernel that applies the activation.
inline kernels::calls::Epilogue epilogue_of(const FusedActivation& activation,
                                            bool residual_after = false) {
  return {static_cast<kernels::Activation>(activation.kind), residual_after, activation.a,
          activation.b};
}

// Throws invalid_argument naming the node if the name is unknown.
FusedActivation fused_activation(const ir::Node& node);

}  // namespace poprt::ops
