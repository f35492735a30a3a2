// conv_grouped: convolution with 1, 2, 4, 8 or 16 input channels in each group and as many output
// channels, on channel-blocked f32 (calls/common/blocked_conv.h with groups = blocks of channels, c
// = m = 16). Weights are packed by pack_conv().
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvGrouped {
  static constexpr std::string_view kKernel = "conv_grouped";

  BlockedConv conv;
  int64_t size = 1;  // channels of a group: 1, 2, 4, 8 or 16

  void fields(Fields& f) {
    conv.fields(f, {.c = 16, .most_m = 16});
    f.size("size", size, 1, 16);
    f.require(16 % size == 0, "groups must have 1, 2, 4, 8 or 16 channels");
  }
};

}  // namespace poprt::kernels::calls
