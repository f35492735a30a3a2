// conv_transpose_phases: transposed convolution of channel-blocked f32 (calls/common/blocked_conv.h
// without residual) as convolutions of its phases (kernels/common/transposed_phases.h). If there
// are several groups, each has a multiple of 16 channels. Weights are packed by
// pack_transposed_phases() or, if `merged`, by pack_merged_phases(). With `merged`, one convolution
// computes all phases: it has one group, no dilation, fewer than 16 output channels, and as bias
// one number for each output channel of each phase.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/blocked_conv.h"

namespace poprt::kernels::calls {

struct ConvTransposePhases {
  static constexpr std::string_view kKernel = "conv_transpose_phases";

  BlockedConv conv;
  bool merged = false;

  void fields(Fields& f) {
    conv.fields(f);
    f.flag("merged", merged);
    f.require(!merged || (conv.groups == 1 && conv.dilation_h == 1 && conv.dilation_w == 1),
              "expected one group without dilation");
  }
};

}  // namespace poprt::kernels::calls
