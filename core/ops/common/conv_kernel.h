// Selects the kernel of a blocked convolution and its arguments.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "ir/graph.h"
#include "kernels/calls/conv.h"
#include "kernels/calls/conv_depthwise.h"
#include "kernels/calls/conv_dilated.h"
#include "kernels/calls/conv_grouped.h"
#include "kernels/calls/conv_normalized.h"
#include "kernels/calls/conv_plain.h"
#include "kernels/calls/conv_stem.h"
#include "kernels/calls/conv_winograd.h"
#include "kernels/common/pack_conv.h"
#include "ops/common/conv.h"

namespace poprt::ops {

// One axis of a convolution.
struct ConvAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;
};

struct ConvProblem {
  int64_t batch = 0, groups = 0, c = 0, m = 0;  // channels in and out of one group
  std::array<ConvAxis, 3> axes;                 // depth, height, width
  bool deep = false;                            // three spatial dimensions
  bool plain = false;                           // x is not blocked
  bool plain_result = false;                    // y is not blocked
  bool normalized = false;                      // x is scaled and shifted first

  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
};

// The problem of a poprt.Conv node whose inputs have static types. Throws invalid_argument naming
// the node.
ConvProblem conv_problem(const ir::Node& conv);

struct ConvKernel {
  // The call of the kernel, without the epilogue and the prologue.
  std::variant<kernels::calls::Conv, kernels::calls::ConvStem, kernels::calls::ConvPlain,
               kernels::calls::ConvNormalized, kernels::calls::ConvDepthwise,
               kernels::calls::ConvGrouped, kernels::calls::ConvWinograd,
               kernels::calls::ConvDilated>
      call;
  // The ONNX weights as pack_conv() reads them: [groups * m, c, kh, kw] for any rank.
  kernels::ConvWeights weights;
  bool packed = true;  // false: the kernel reads weights and bias in the layout of ONNX
  int64_t winograd_tile = 0;

  std::string_view name() const;
  int64_t packed_floats() const;
  void pack(std::span<const float> values, std::span<float> to) const;
};

// `winograd_tile` is 0, 2 or 4 for 3x3 with stride 1, or -1 for the cheapest tile that is at most
// `largest_tile`. Throws invalid_argument if no kernel computes the problem (see
// poprt_conv_supported()).
ConvKernel choose_conv_kernel(const ConvProblem& problem, int64_t winograd_tile = -1,
                              int64_t largest_tile = kLargestWinogradTile);

// Whether choose_conv_kernel() finds a kernel.
bool conv_kernel_exists(const ConvProblem& problem);

}  // namespace poprt::ops
