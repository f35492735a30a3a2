// What conv_generic and conv_transpose_generic share: plain [N, C, spatial...] layout, operands
// [x, weights, bias?, y] of one dtype, ints [N, groups, C, M, rank (1-3), then per spatial
// dimension: in, out, kernel, stride, pad, dilation] with C and M channels per group.
#pragma once

#include <array>

#include "kernels/kernel.h"

namespace poprt::kernels {

struct ConvAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;
};

struct GenericConv {
  int64_t n = 0, groups = 0, c = 0, m = 0;
  std::array<ConvAxis, 3> axis;  // missing leading dimensions are 1
  int64_t in_plane = 1, out_plane = 1, taps = 1;
  DType dtype = DType::undefined;
  double flops() const {
    return 2.0 * static_cast<double>(n * groups * m) * static_cast<double>(c * taps);
  }
};

// Throws invalid_argument naming the kernel.
GenericConv read_generic_conv(std::string_view kernel, const Call& call);

}  // namespace poprt::kernels
