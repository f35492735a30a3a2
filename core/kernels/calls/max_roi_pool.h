// max_roi_pool: operands [x [n, c, h, w], rois [rois, 5] (image, x1, y1, x2, y2, inclusive), y
// [rois, c, oh, ow]], all f32 or all f64: the largest element of each bin, 0 for an empty one.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct MaxRoiPool {
  static constexpr std::string_view kKernel = "max_roi_pool";

  int64_t n = 0;
  int64_t c = 0;
  int64_t h = 0;
  int64_t w = 0;
  int64_t rois = 0;
  int64_t oh = 0;
  int64_t ow = 0;
  float scale = 0;  // converts places in rois to pixels

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c);
    f.size("h", h);
    f.size("w", w);
    f.size("rois", rois);
    f.size("oh", oh, 1);
    f.size("ow", ow, 1);
    f.real("scale", scale);
  }
};

}  // namespace poprt::kernels::calls
