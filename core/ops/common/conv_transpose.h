// The window of ConvTranspose (pads from output_shape or auto_pad, and output sizes), and the nodes
// that poprt.ConvTranspose supports.
#pragma once

#include "ops/common/window.h"
#include "ops/op.h"

namespace poprt::ops {

struct TransposedWindow {
  Window window;             // pads_begin and pads_end resolved
  std::vector<int64_t> out;  // kUnknownDim if the dimension of the input is unknown
};

// The window for all opsets of ONNX ConvTranspose. `kernel` is the spatial shape of the weights.
// Throws invalid_argument naming the node if the attributes do not fit the rank or each other.
TransposedWindow transposed_window_of(const ir::Node& node, const std::vector<int64_t>& spatial,
                                      const std::vector<int64_t>& kernel);

// Whether poprt.ConvTranspose supports this ONNX ConvTranspose node, whose types are static. It
// must be f32 with constant weights, one or two spatial dimensions (three if the kernel equals the
// stride), and at least 16 channels, in one group or in groups of multiples of 16. Unless the
// kernel equals the stride, strides must be at most kernels::kMostPhases, pads_begin must not
// be negative, and few of the products may be with zeros.
bool poprt_conv_transpose_supported(const ir::Node& conv);
// Whether the kernel of a ConvTranspose of static types equals its stride, without padding, in one
// group.
bool is_plain_transpose(const ir::Node& conv);

}  // namespace poprt::ops
