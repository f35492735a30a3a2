// crop_and_resize: operands [x, rois, batch, y]: f32 x [n, c, h, w], rois [rois, 4] (y1, x1, y2, x2
// as fractions of h - 1 and w - 1), s32 batch [rois] (the image of each region), y [rois, c, oh,
// ow].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct CropAndResize {
  static constexpr std::string_view kKernel = "crop_and_resize";

  int64_t n = 0;
  int64_t c = 0;
  int64_t h = 0;
  int64_t w = 0;
  int64_t rois = 0;
  int64_t oh = 0;
  int64_t ow = 0;
  bool nearest = false;  // instead of bilinear
  float outside = 0;     // the value of points outside x

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c);
    f.size("h", h, 1);
    f.size("w", w, 1);
    f.size("rois", rois);
    f.size("oh", oh, 1);
    f.size("ow", ow, 1, (int64_t{1} << 20) - 1);
    f.flag("nearest", nearest);
    f.real("outside", outside);
  }
};

}  // namespace poprt::kernels::calls
