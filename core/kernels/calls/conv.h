// conv: convolution of channel-blocked f32 (calls/common/blocked_conv.h). x is [batch, groups *
// ceil(c / 16), h, w, 16]; c is a multiple of 16 if groups > 1. Weights are packed by pack_conv().
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct Conv {
  static constexpr std::string_view kKernel = "conv";

  BlockedConv conv;
  std::optional<ConvDepth> depth;

  void fields(Fields& f) {
    conv.fields(f);
    ConvDepth::fields(f, depth);
  }
};

}  // namespace poprt::kernels::calls
