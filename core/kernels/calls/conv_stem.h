// conv_stem: convolution of plain f32 x [batch, c, h, w] or [batch, c, d, h, w] with few channels
// into channel blocks (calls/common/blocked_conv.h; one group). Weights are packed by pack_conv().
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvStem {
  static constexpr std::string_view kKernel = "conv_stem";

  BlockedConv conv;
  std::optional<ConvDepth> depth;

  void fields(Fields& f) {
    conv.fields(f);
    ConvDepth::fields(f, depth);
  }
};

}  // namespace poprt::kernels::calls
