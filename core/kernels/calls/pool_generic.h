// pool_generic: operands [x, y, indices?]: max, average or Lp pooling of plain x [planes, in...], y
// [planes, out...]. Indices (s64, of maxima) are relative to the start of x.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The numbers are part of the file format.
enum class Pooling : int64_t { max = 0, average = 1, lp = 2 };

// One spatial dimension, see calls/common/window.h.
struct PoolingAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1;
  int64_t pad = 0, pad_end = 0;  // before the first and after the last element
  int64_t dilation = 1;
};

struct PoolGeneric {
  static constexpr std::string_view kKernel = "pool_generic";

  Pooling kind = Pooling::max;
  bool count_padding = false;     // averages also count the taps in the padding
  int64_t p = 2;                  // exponent of lp
  bool column_major = false;      // indices are numbered with the first spatial dimension fastest
  int64_t planes = 0;             // images times channels
  std::vector<PoolingAxis> axes;  // one to three

  void fields(Fields& f) {
    f.choice("kind", kind, Pooling::lp);
    f.flag("count_padding", count_padding);
    f.integer("p", p);
    f.flag("column_major", column_major);
    f.size("planes", planes);
    f.require(kind != Pooling::lp || p >= 1, "p must be positive");
    f.length("rank", axes, 1, 3);
    for (PoolingAxis& a : axes) {
      f.extent("in", a.in, 0);
      f.extent("out", a.out, 0);
      f.extent("kernel", a.kernel);
      f.extent("stride", a.stride);
      f.extent("pad", a.pad, 0);
      f.extent("pad_end", a.pad_end, 0);
      f.extent("dilation", a.dilation);
    }
  }
};

}  // namespace poprt::kernels::calls
