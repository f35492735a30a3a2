// affine_grid: operands [theta [n, rank, rank + 1], grid [n, size..., rank]], both f32 or both f64.
// The result is theta times the position of each point. The position lists x (the last dimension)
// first, with coordinates from -1 to 1, followed by 1.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct AffineGrid {
  static constexpr std::string_view kKernel = "affine_grid";

  int64_t n = 0;
  // -1 and 1 are the middles of the outermost points instead of their outer edges
  bool align_corners = false;
  std::vector<int64_t> size;  // of the grid, two or three dimensions

  void fields(Fields& f) {
    f.size("n", n);
    f.length("rank", size, 2, 3);
    f.flag("align_corners", align_corners);
    f.sizes("size", size);
  }
};

}  // namespace poprt::kernels::calls
