// conv_winograd: 3x3 convolution with stride 1 of channel-blocked operands
// (calls/common/blocked_conv.h, one group) by F(2x2,3x3) or F(4x4,3x3). x, residual and y are each
// f32 or bf16. Weights are packed by pack_conv_winograd(), or, with `plain_weights`, by
// pack_conv(); then each task transforms the weights that it uses. A third dimension may have any
// kernel and stride; its weights are plain.
#pragma once

#include "base/error.h"
#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvWinograd {
  static constexpr std::string_view kKernel = "conv_winograd";

  BlockedConv conv;
  int64_t tile = 2;  // rows and columns of results: 2 or 4
  bool plain_weights = false;
  std::optional<ConvDepth> depth;

  void fields(Fields& f) {
    conv.fields(f, {.groups = 1, .kernel = 3, .stride = 1, .dilation = 1});
    f.size("tile", tile, 2, 4);
    f.require(tile != 3, "the tile must be 2 or 4");
    // The fields of a third dimension follow only the flag, so it would be lost without it.
    POPRT_ASSERT(!depth || plain_weights);
    f.later_flag("plain_weights", plain_weights);
    if (plain_weights) ConvDepth::fields(f, depth);
  }
};

}  // namespace poprt::kernels::calls
