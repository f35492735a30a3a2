// What conv and conv_normalized share: the blocked convolution, with a prologue or without.
#pragma once

#include "kernels/common/conv.h"

namespace poprt::kernels {

struct ConvBlockedParams {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  const isa::ConvTable* table;
  bool scale_of_image = false;  // of the prologue, as `low`
  float low = 0;
};

// `operands` are those of `conv`; everything is checked but those of a prologue. The plan has
// neither run nor params yet.
Plan plan_blocked_conv(std::string_view kernel, const calls::BlockedConv& conv,
                       const std::optional<calls::ConvDepth>& depth,
                       std::span<const Operand> operands, bool prologue, ConvBlockedParams& params);

}  // namespace poprt::kernels
