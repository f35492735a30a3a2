// grid_sample: operands [x [n, c, size...], grid [n, points, rank], y [n, c, points]], all f32 or
// all f64. Reads x at the places of the grid (last dimension first, -1 to 1). Cubic interpolation
// uses a = -0.75.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The numbers are part of the file format.
enum class SampleMode : int64_t { linear = 0, nearest = 1, cubic = 2 };
enum class SamplePadding : int64_t { zeros = 0, border = 1, reflection = 2 };

struct GridSample {
  static constexpr std::string_view kKernel = "grid_sample";

  int64_t n = 0;
  int64_t c = 0;
  int64_t points = 0;  // the number of points in each image
  SampleMode mode = SampleMode::linear;
  SamplePadding padding = SamplePadding::zeros;  // the values outside x
  // -1 and 1 are the middles of the outermost pixels instead of their outer edges
  bool align_corners = false;
  std::vector<int64_t> size;  // of the image, one to three dimensions

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c);
    f.size("points", points);
    f.length("rank", size, 1, 3);
    f.choice("mode", mode, SampleMode::cubic);
    f.choice("padding", padding, SamplePadding::reflection);
    f.flag("align_corners", align_corners);
    for (int64_t& s : size) f.size("size", s, 1, (int64_t{1} << 30) - 1);
  }
};

}  // namespace poprt::kernels::calls
