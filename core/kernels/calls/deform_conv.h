// deform_conv: operands [x [n, c, h, w], weights [m, c / groups, kh, kw], offset, bias? [m], mask?,
// y [n, m, oh, ow]], all f32 or all f64: a 2D convolution whose taps read x bilinearly at their
// place plus offset [n, offset_groups, taps, 2 (y, x), oh, ow], times mask [n, offset_groups, taps,
// oh, ow].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct DeformConv {
  static constexpr std::string_view kKernel = "deform_conv";

  int64_t n = 0;
  int64_t c = 0;
  int64_t h = 0;
  int64_t w = 0;
  int64_t m = 0;
  int64_t oh = 0;
  int64_t ow = 0;
  int64_t kh = 0;
  int64_t kw = 0;
  int64_t sy = 1;  // stride
  int64_t sx = 1;
  int64_t py = 0;  // padding before the first row
  int64_t px = 0;
  int64_t dy = 1;  // dilation
  int64_t dx = 1;
  int64_t groups = 1;
  int64_t offset_groups = 1;

  void fields(Fields& f) {
    f.extent("n", n);
    f.extent("c", c);
    f.extent("h", h);
    f.extent("w", w);
    f.extent("m", m);
    f.extent("oh", oh);
    f.extent("ow", ow);
    f.extent("kh", kh);
    f.extent("kw", kw);
    f.extent("sy", sy);
    f.extent("sx", sx);
    f.extent("py", py, 0);
    f.extent("px", px, 0);
    f.extent("dy", dy);
    f.extent("dx", dx);
    f.extent("groups", groups);
    f.extent("offset_groups", offset_groups);
    // Arguments of require() are also evaluated when an operator writes the call, with the sizes of
    // the model, including zeros. So the conditions must not divide by zero.
    f.require(groups > 0 && offset_groups > 0 && c % groups == 0 && m % groups == 0 &&
                  c % offset_groups == 0,
              "the number of channels is not a multiple of the number of groups");
    f.require(w == 0 || h <= kMostExtent / w, "a plane is too large");
  }
};

}  // namespace poprt::kernels::calls
