// pack_conv: operands [weights [groups, m, c, taps], packed], both f32. Packs convolution weights
// that are computed at run time to the form that pack_conv() of kernels/common/pack_conv.h gives
// constant weights. A bias is padded to whole blocks like the weights of one channel and one tap.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct PackConv {
  static constexpr std::string_view kKernel = "pack_conv";

  int64_t groups = 1;
  int64_t m = 1;  // output channels of a group
  int64_t c = 1;  // input channels of a group
  int64_t taps = 1;

  void fields(Fields& f) {
    f.size("groups", groups, 1);
    f.size("m", m, 1);
    f.size("c", c, 1);
    f.size("taps", taps, 1);
  }
};

}  // namespace poprt::kernels::calls
