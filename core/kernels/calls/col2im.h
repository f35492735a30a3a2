// col2im: operands [x [planes, taps, blocks], y [planes, image]], both f32 or both f64. x contains
// windows of an image; y is the sum of the elements for each pixel.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// One spatial dimension.
struct Col2imAxis {
  int64_t image = 1;   // pixels
  int64_t blocks = 1;  // windows
  int64_t kernel = 1, stride = 1;
  int64_t pad = 0;  // before the first pixel
  int64_t dilation = 1;
};

struct Col2im {
  static constexpr std::string_view kKernel = "col2im";

  int64_t planes = 0;
  std::vector<Col2imAxis> axes;  // at most kMostAxes
  static constexpr int64_t kMostAxes = 8;

  void fields(Fields& f) {
    f.size("planes", planes);
    f.length("rank", axes, 1, kMostAxes);
    for (Col2imAxis& a : axes) {
      f.extent("image", a.image);
      f.extent("blocks", a.blocks);
      f.extent("kernel", a.kernel);
      f.extent("stride", a.stride);
      f.extent("pad", a.pad, 0);
      f.extent("dilation", a.dilation);
    }
  }
};

}  // namespace poprt::kernels::calls
