// interleave_bytes: operands [x [groups, c, in...], zero?, y]. Converts u8 or s8 x to the padded,
// channel-interleaved bytes that conv_vnni reads: y [groups, ceil(c / 4), padded..., 4], followed
// by kVnniBytes unused bytes. y is unsigned (s8 is increased by 128); padding contains the zero
// point, missing channels 0.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// One spatial dimension.
struct PaddedAxis {
  int64_t in = 1;
  int64_t pad = 0;     // before the first element
  int64_t padded = 1;  // with the padding on both sides
};

struct InterleaveBytes {
  static constexpr std::string_view kKernel = "interleave_bytes";

  int64_t groups = 0;
  int64_t c = 1;                 // channels of a group
  std::vector<PaddedAxis> axes;  // one to three

  void fields(Fields& f) {
    f.size("groups", groups);
    f.size("c", c, 1);
    f.length("rank", axes, 1, 3);
    for (PaddedAxis& a : axes) {
      f.size("in", a.in, 1);
      f.size("pad", a.pad);
      f.size("padded", a.padded, 1);
      f.require(a.pad + a.in <= a.padded, "the padded size is too small");
    }
  }
};

}  // namespace poprt::kernels::calls
