// conv_normalized: `conv` of max(x * scale + shift, low) for each channel: BatchNormalization and
// Relu, or a gate for each channel, before a convolution. Padding stays zero. Operands [x, weights,
// bias?, residual?, scale, shift?, y]. shift is [groups * ceil(c / 16), 16]; scale has the same
// shape, once or for each image.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvNormalized {
  static constexpr std::string_view kKernel = "conv_normalized";

  BlockedConv conv;
  std::optional<ConvDepth> depth;
  bool scale_of_image = false;  // scale differs between images
  float low = 0;                // minus infinity: no lower bound

  void fields(Fields& f) {
    conv.fields(f);
    ConvDepth::fields(f, depth, 1);
    f.flag("scale_of_image", scale_of_image);
    f.real("low", low);
  }
};

}  // namespace poprt::kernels::calls
