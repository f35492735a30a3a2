// conv_transpose: transposed convolution of channel-blocked f32 with a kernel equal to its stride
// (calls/common/blocked_conv.h with one group, oh = h * kh, ow = w * kw, od = d * kd, no residual).
// Weights are packed by pack_conv_transpose(), with kd * kh rows.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvTranspose {
  static constexpr std::string_view kKernel = "conv_transpose";

  BlockedConv conv;
  std::optional<ConvDepth> depth;

  void fields(Fields& f) {
    conv.fields(f, {.groups = 1, .dilation = 1, .most_pad = 0});
    f.require(conv.kh == conv.stride_h && conv.kw == conv.stride_w && conv.oh == conv.h * conv.kh &&
                  conv.ow == conv.w * conv.kw,
              "expected a kernel equal to the stride and no padding");
    ConvDepth::fields(f, depth);
    const ConvDepth v = depth.value_or(ConvDepth{});
    f.require(v.kd == v.stride_d && v.od == v.d * v.kd && v.pad_d == 0 && v.dilation_d == 1,
              "expected a depth of the kernel equal to the stride, no padding and no dilation");
  }
};

}  // namespace poprt::kernels::calls
