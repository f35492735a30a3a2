// A window that moves along one spatial dimension, for convolutions and pooling.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// Window o covers in[o * stride - pad + k * dilation] for 0 <= k < kernel. All values are below
// 2^31.
struct WindowAxis {
  int64_t in = 1;   // elements
  int64_t out = 1;  // windows
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t pad = 0;  // before the first element; if negative, that many elements are skipped
  int64_t dilation = 1;

  // The smallest sizes and padding that the kernel supports.
  struct Least {
    int64_t in = 1, out = 1, pad = 0;
  };
  static constexpr int64_t kAnyPad = -kMostExtent;

  void fields(Fields& f, Least least) {
    f.extent("in", in, least.in);
    f.extent("out", out, least.out);
    f.extent("kernel", kernel);
    f.extent("stride", stride);
    f.extent("pad", pad, least.pad);
    f.extent("dilation", dilation);
  }
  bool operator==(const WindowAxis&) const = default;
};

}  // namespace poprt::kernels::calls
