// Checks that conv_generic, conv_transpose_generic and conv_integer share: a convolution in plain
// layout with operands [x, weights, bias?, y] of one dtype.
#pragma once

#include <array>

#include "kernels/calls/common/plain_conv.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

using ConvAxis = calls::WindowAxis;

struct GenericConv {
  int64_t n = 0, groups = 0, c = 0, m = 0;
  std::array<ConvAxis, 3> axis;  // missing leading dimensions are 1
  int64_t in_plane = 1, out_plane = 1, taps = 1;
  DType dtype = DType::undefined;
  double flops() const {
    return 2.0 * static_cast<double>(n * groups * m) * static_cast<double>(c * taps);
  }
};

// Checks the operands. Throws invalid_argument naming the kernel, or out_of_range if a size
// overflows.
GenericConv read_generic_conv(std::string_view kernel, const calls::PlainConv& conv,
                              std::span<const Operand> operands);

}  // namespace poprt::kernels
