// conv_bf16: convolution into channel blocks (calls/common/blocked_conv.h) with products of bf16
// and sums of f32. x, the residual and y are each bf16 or f32; an x of f32 is rounded to bf16. x is
// [batch, groups * ceil(c / 16), h, w, 16]; c is a multiple of 16 if groups > 1. Weights are bf16
// that pack_conv_bf16() packs, bias is f32.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvBf16 {
  static constexpr std::string_view kKernel = "conv_bf16";

  BlockedConv conv;
  std::optional<ConvDepth> depth;

  void fields(Fields& f) {
    conv.fields(f);
    ConvDepth::fields(f, depth);
  }
};

}  // namespace poprt::kernels::calls
