// unblock: operands [from, to]. Converts f32 channel blocks [n, ceil(channels / 16), pixels, 16] to
// plain [n, channels, pixels].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Unblock {
  static constexpr std::string_view kKernel = "unblock";

  int64_t n = 0;
  int64_t channels = 0;
  int64_t pixels = 0;

  void fields(Fields& f) {
    f.size("n", n);
    f.size("channels", channels, 1);
    f.size("pixels", pixels);
  }
};

}  // namespace poprt::kernels::calls
