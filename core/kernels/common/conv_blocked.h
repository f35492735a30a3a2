// The plan that conv and conv_normalized share: the blocked convolution with an optional prologue.
#pragma once

#include "kernels/common/conv.h"

namespace poprt::kernels {

struct ConvBlockedParams {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  const isa::ConvTable* table;
  bool scale_of_image = false;  // this and `low`: as in calls/conv_normalized.h
  float low = 0;
};

// `operands` are those of `conv`. Checks everything except the operands of a prologue. The caller
// sets run and params of the plan. Throws as read_conv().
Plan plan_blocked_conv(std::string_view kernel, const calls::BlockedConv& conv,
                       const std::optional<calls::ConvDepth>& depth,
                       std::span<const Operand> operands, bool prologue, ConvBlockedParams& params);

}  // namespace poprt::kernels
