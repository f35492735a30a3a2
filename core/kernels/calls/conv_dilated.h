// conv_dilated: convolution of channel-blocked f32 with stride 1 for which many taps are in the
// padding (calls/common/blocked_conv.h). x has the same form as for `conv`. Weights are packed by
// pack_conv().
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvDilated {
  static constexpr std::string_view kKernel = "conv_dilated";

  BlockedConv conv;

  void fields(Fields& f) {
    conv.fields(f, {.stride = 1});
    f.require(conv.groups == 1 || conv.c % 16 == 0, "groups require multiples of 16 channels");
  }
};

}  // namespace poprt::kernels::calls
