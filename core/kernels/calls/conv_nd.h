// conv_nd: operands [x [n, groups * c, in...], weights [groups * m, c, kernel...], bias? [groups *
// m], y [n, groups * m, out...]], all f32 or all f64: a convolution over any number of dimensions.
// Sums are in double.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/window.h"

namespace poprt::kernels::calls {

struct ConvNd {
  static constexpr std::string_view kKernel = "conv_nd";

  int64_t n = 0;
  int64_t groups = 1;
  int64_t c = 0;                 // input channels of a group
  int64_t m = 1;                 // output channels of a group
  std::vector<WindowAxis> axes;  // at most 16

  void fields(Fields& f) {
    f.size("n", n);
    f.size("groups", groups, 1);
    f.size("c", c);
    f.size("m", m, 1);
    f.length("rank", axes, 1, 16);
    for (WindowAxis& a : axes) a.fields(f, {.in = 0, .out = 1, .pad = WindowAxis::kAnyPad});
  }
};

}  // namespace poprt::kernels::calls
