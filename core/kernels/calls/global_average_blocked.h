// global_average_blocked: operands [x, y], f32: the averages over the pixels of channel blocks x
// [n, ceil(channels / 16), pixels, 16], as plain y [n, channels].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct GlobalAverageBlocked {
  static constexpr std::string_view kKernel = "global_average_blocked";

  int64_t n = 0;
  int64_t channels = 1;
  int64_t pixels = 1;

  void fields(Fields& f) {
    f.size("n", n);
    f.size("channels", channels, 1);
    f.size("pixels", pixels, 1);
  }
};

}  // namespace poprt::kernels::calls
