// conv_stem_bf16: convolution of plain f32 x [batch, c, h, w] of fewer than 16 channels into
// channel blocks (calls/common/blocked_conv.h; one group, without dilation of the columns) with
// products of bf16 and sums of f32. x is rounded to bf16; the residual and y are each bf16 or f32.
// Weights are bf16 that pack_conv_stem_bf16() packs, bias is f32.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvStemBf16 {
  static constexpr std::string_view kKernel = "conv_stem_bf16";

  BlockedConv conv;

  void fields(Fields& f) {
    conv.fields(f, {.groups = 1});
    f.require(conv.c < 16, "there must be fewer than 16 channels");
    f.require(conv.dilation_w == 1, "columns must not be dilated");
  }
};

}  // namespace poprt::kernels::calls
