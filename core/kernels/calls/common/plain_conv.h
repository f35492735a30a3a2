// The sizes of a convolution in plain layout, x [n, groups * c, in...], in up to three dimensions.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/window.h"

namespace poprt::kernels::calls {

struct PlainConv {
  int64_t n = 1;
  int64_t groups = 1;
  int64_t c = 1;  // input channels of a group
  int64_t m = 1;  // output channels of a group
  std::vector<WindowAxis> axes;

  void fields(Fields& f) {
    f.extent("n", n);
    f.extent("groups", groups);
    f.extent("c", c);
    f.extent("m", m);
    f.length("rank", axes, 1, 3);
    for (WindowAxis& a : axes) a.fields(f, {.in = 1, .out = 1, .pad = WindowAxis::kAnyPad});
  }
};

}  // namespace poprt::kernels::calls
