// conv: convolution of channel-blocked f32 (calls/common/blocked_conv.h). x is [batch, groups *
// ceil(c / 16), h, w, 16]; c is a multiple of 16 if groups > 1. Weights are packed by pack_conv().
//
// With `single`, one more group follows the pairs of groups: pair_c channels of x in ceil(pair_c /
// 16) more blocks, pair_m of y, and their weights after those of the pairs. For example, three
// groups of 24 channels are a pair of three blocks and a group of two blocks, of which the last has
// 8 channels.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct Conv {
  static constexpr std::string_view kKernel = "conv";

  BlockedConv conv;
  std::optional<ConvDepth> depth;
  // If not 0, each group is a pair of groups (isa/conv.h). `depth` must then be given, because its
  // optional fields are before these.
  int64_t pair_c = 0, pair_m = 0;
  bool single = false;

  void fields(Fields& f) {
    conv.fields(f);
    ConvDepth::fields(f, depth);
    if (!f.has_optional(pair_c != 0)) return;
    f.extent("pair_c", pair_c);
    f.extent("pair_m", pair_m);
    f.require(conv.c % 16 == 0 && pair_c < conv.c && pair_m < conv.m,
              "a pair must be a part of multiples of 16 channels");
    f.later_flag("single", single);
  }
};

}  // namespace poprt::kernels::calls
