// max_pool_bytes: operands [x [n, in..., c], y [n, out..., c]], u8 or s8: the maximum of each
// window, with channels last. A window without an input has the lowest number as its result.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/window.h"

namespace poprt::kernels::calls {

struct MaxPoolBytes {
  static constexpr std::string_view kKernel = "max_pool_bytes";

  int64_t n = 0;
  int64_t c = 0;
  std::vector<WindowAxis> axes;  // one to three

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c);
    f.length("rank", axes, 1, 3);
    for (WindowAxis& a : axes) a.fields(f, {.in = 0, .out = 0, .pad = 0});
  }
};

}  // namespace poprt::kernels::calls
