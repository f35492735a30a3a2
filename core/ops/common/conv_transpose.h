// The window of ConvTranspose: pads from output_shape or auto_pad, and output sizes.
#pragma once

#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops {

struct TransposedWindow {
  Window window;             // pads_begin and pads_end resolved
  std::vector<int64_t> out;  // kUnknownDim if the dimension of the input is unknown
};

// The window for all opsets of ONNX ConvTranspose. `kernel` is the spatial shape of the weights.
TransposedWindow transposed_window_of(const ir::Node& node, const std::vector<int64_t>& spatial,
                                      const std::vector<int64_t>& kernel);

}  // namespace poprt::ops
