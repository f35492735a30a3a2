// conv_vnni: operands [x, w, w_sums, x_zero?, w_zero?, bias?, y]: an integer convolution of the
// output of interleave_bytes with constant weights that kernels/common/pack_vnni.h packed as rows.
// s32 y [n, groups * m, out...] = sums of (x - x_zero) * (w - w_zero) + bias. w_zero has one
// element or one for each filter, bias (s32) one for each.
//
// There may be four more operands before y, [x_scale, w_scale, y_scale, y_zero]. Then y is u8 or s8
// and the sums are converted as by kernel requantize; w_scale has one element or one for each
// filter.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// One spatial dimension: a window (calls/common/window.h) of an input that is already padded.
struct VnniAxis {
  int64_t padded = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
};

struct ConvVnni {
  static constexpr std::string_view kKernel = "conv_vnni";

  int64_t n = 0;
  int64_t groups = 1;
  int64_t c = 1;          // input channels of a group
  int64_t m = 1;          // output channels of a group
  bool x_signed = false;  // x was s8, not u8
  bool w_signed = false;
  bool w_filters = false;      // w_zero has an element for each filter
  std::vector<VnniAxis> axes;  // one to three

  void fields(Fields& f) {
    f.size("n", n);
    f.size("groups", groups, 1);
    f.size("c", c, 1);
    f.size("m", m, 1);
    f.flag("x_signed", x_signed);
    f.flag("w_signed", w_signed);
    f.flag("w_filters", w_filters);
    f.length("rank", axes, 1, 3);
    for (VnniAxis& a : axes) {
      f.extent("padded", a.padded);
      f.extent("out", a.out);
      f.extent("kernel", a.kernel);
      f.extent("stride", a.stride);
      f.extent("dilation", a.dilation);
      // The sum is below 2^63 because both products are below 2^62.
      f.require((a.out - 1) * a.stride + (a.kernel - 1) * a.dilation < a.padded,
                "a window reaches outside its input");
    }
  }
};

}  // namespace poprt::kernels::calls
