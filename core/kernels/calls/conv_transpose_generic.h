// conv_transpose_generic: operands [x [n, groups * c, in...], weights [groups * c, m, kernel...],
// bias? [groups * m], y [n, groups * m, out...]] of one float dtype: any transposed convolution in
// up to three dimensions. `in` and `out` are the sizes of the transposed convolution: tap k of
// input i is added to out[i * stride - pad + k * dilation].
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/plain_conv.h"

namespace poprt::kernels::calls {

struct ConvTransposeGeneric {
  static constexpr std::string_view kKernel = "conv_transpose_generic";

  PlainConv conv;

  void fields(Fields& f) { conv.fields(f); }
};

}  // namespace poprt::kernels::calls
