// conv_depthwise: one filter for each channel on channel-blocked operands
// (calls/common/blocked_conv.h), with groups = blocks of channels and c = m = 16. x, residual and y
// are all f32 or all bf16. Weights are packed by pack_conv().
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvDepthwise {
  static constexpr std::string_view kKernel = "conv_depthwise";

  BlockedConv conv;

  void fields(Fields& f) { conv.fields(f, {.c = 16, .most_m = 16}); }
};

}  // namespace poprt::kernels::calls
