// conv_plain: convolution of plain f32 x [batch, c, h, w] or [batch, c, d, h, w] with few channels
// to plain y [batch, m, oh, ow] or [batch, m, od, oh, ow] (calls/common/blocked_conv.h; one group,
// no residual). Weights and bias have the layout of ONNX.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvPlain {
  static constexpr std::string_view kKernel = "conv_plain";

  BlockedConv conv;
  std::optional<ConvDepth> depth;

  void fields(Fields& f) {
    conv.fields(f);
    ConvDepth::fields(f, depth);
  }
};

}  // namespace poprt::kernels::calls
