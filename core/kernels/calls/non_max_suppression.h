// non_max_suppression: operands [boxes, scores, y]. From f32 boxes [n, b, 4] and scores [n, c, b],
// computes s64 rows (image, class, box) of y [rows, 3], best first within a class. Rows after the
// last one contain -1.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct NonMaxSuppression {
  static constexpr std::string_view kKernel = "non_max_suppression";

  int64_t n = 0;        // images
  int64_t c = 0;        // classes
  int64_t b = 0;        // boxes
  int64_t most = 0;     // results for each class and image
  bool center = false;  // boxes are (center x, center y, width, height), not two corners
  int64_t rows = 0;
  float iou = 0;    // boxes that overlap more than this are the same object
  float score = 0;  // boxes with a score up to this are dropped

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c);
    f.size("b", b, 0, kMostExtent);
    f.size("most", most);
    f.flag("center", center);
    f.size("rows", rows);
    f.real("iou", iou);
    f.real("score", score);
  }
};

}  // namespace poprt::kernels::calls
