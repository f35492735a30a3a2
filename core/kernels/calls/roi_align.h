// roi_align: operands [x [n, c, h, w], rois [rois, 4] (x1, y1, x2, y2), batch [rois], y [rois, c,
// oh, ow]]. x is f32 or f64; batch is s32 or s64 and contains the image of each region. Each bin is
// the average of bilinear samples, or the maximum of the weighted pixels that they consist of.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct RoiAlign {
  static constexpr std::string_view kKernel = "roi_align";

  int64_t n = 0;
  int64_t c = 0;
  int64_t h = 0;
  int64_t w = 0;
  int64_t rois = 0;
  int64_t oh = 0;
  int64_t ow = 0;
  int64_t ratio = 0;  // samples of a bin in each dimension; 0: as many as it has pixels
  bool max = false;
  bool half_pixel = false;  // the middle of pixel 0 is at 0.5
  float scale = 0;          // converts places in rois to pixels

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c);
    f.size("h", h, 1);
    f.size("w", w, 1);
    f.size("rois", rois);
    f.size("oh", oh, 1);
    f.size("ow", ow, 1);
    f.size("ratio", ratio, 0, 4096);
    f.flag("max", max);
    f.flag("half_pixel", half_pixel);
    f.real("scale", scale);
  }
};

}  // namespace poprt::kernels::calls
