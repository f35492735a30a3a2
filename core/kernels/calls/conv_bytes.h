// conv_bytes: operands [x, panels, offsets, scales, residual?, y]: a convolution of u8 or s8 with
// channels last, x [n, in..., c], y [n, out..., m].
//
// The weights are constant. kernels/common/pack_vnni.h packs them as columns of the matrix [lines
// of taps, taps of a line * c padded with zeros to a multiple of four, m]. Let `sum` be the exact
// product of a window (in which s8 is increased by 128) and a column. Then
//
//   y = saturate(round((sum + offsets[m]) * scales[m]) + y_zero),
//
// between the bytes `least` and `most` if there is a range, so offsets (s32) contain the bias and
// the zero points, and scales (f32) all scales. Both are as long as the panels are wide. Padding
// has the value x_zero.
//
// With a residual (like y), let q be the result above. Then
//
//   y = saturate(round(v / sum_scale) + sum_zero),
//   v = (q - y_zero) * y_scale + (residual - residual_zero) * residual_scale, at least 0 with relu.
//
// With as many groups as channels, the panels are s8 [ceil(c / 64), taps of a line, ceil(lines /
// 4), 64, 4] in the order of isa/byte_pixels.h.
#pragma once

#include <optional>

#include "kernels/calls/call.h"
#include "kernels/calls/common/window.h"

namespace poprt::kernels::calls {

struct ByteRange {
  int64_t least = 0, most = 0;
};

struct ConvBytes {
  static constexpr std::string_view kKernel = "conv_bytes";

  static constexpr int64_t kLeastZero = -128, kMostZero = 255;  // the range for s8 and u8
  int64_t n = 0;
  int64_t c = 1;       // input channels
  int64_t m = 1;       // output channels
  int64_t groups = 1;  // 1, or c if c = m is a multiple of 16
  int64_t x_zero = 0;
  int64_t y_zero = 0;
  int64_t residual_zero = 0;
  int64_t sum_zero = 0;          // of y if there is a residual
  bool relu = false;             // applied to the sum with the residual
  bool is_signed = false;        // q is s8
  std::vector<WindowAxis> axes;  // one to three
  float y_scale = 1;             // of q
  float residual_scale = 1;
  float sum_scale = 1;                  // of y if there is a residual
  std::optional<ByteRange> range = {};  // of q

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c, 1);
    f.size("m", m, 1);
    f.size("groups", groups, 1);
    f.integer("x_zero", x_zero, kLeastZero, kMostZero);
    f.integer("y_zero", y_zero, kLeastZero, kMostZero);
    f.integer("residual_zero", residual_zero, kLeastZero, kMostZero);
    f.integer("sum_zero", sum_zero, kLeastZero, kMostZero);
    f.flag("relu", relu);
    f.flag("is_signed", is_signed);
    f.length("rank", axes, 1, 3);
    for (WindowAxis& a : axes) a.fields(f, {});
    f.real("y_scale", y_scale);
    f.real("residual_scale", residual_scale);
    f.real("sum_scale", sum_scale);
    if (f.has_optional(range.has_value())) {
      ByteRange r = range.value_or(ByteRange{});
      f.integer("least", r.least, kLeastZero, kMostZero);
      f.integer("most", r.most, kLeastZero, kMostZero);
      range = r;
    }
    f.require(groups == 1 || (groups == c && groups == m && groups % 16 == 0),
              "groups must be 1 or contain one channel each");
  }
};

}  // namespace poprt::kernels::calls
