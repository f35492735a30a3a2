// The sliding window of convolutions and pooling: attributes, auto_pad and output sizes.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "kernels/calls/common/window.h"

namespace poprt::ops {

// Each vector has one entry for each spatial dimension.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
  bool ceil_mode = false;

  size_t rank() const { return kernel.size(); }
  int64_t extent(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  // The size of the output for an input of size `in`; kUnknownDim if `in` is kUnknownDim. A pooling
  // with ceil_mode drops a last window that would start in the padding at the end.
  int64_t out(size_t d, int64_t in) const;
};

// Reads kernel_shape (or uses `kernel`), strides, dilations, pads, auto_pad and ceil_mode, checks
// them, and resolves auto_pad, which requires known `spatial` sizes (a dimension with an unknown
// size stays unpadded, and its output is unknown). Throws invalid_argument naming the node.
Window window_of(const ir::Node& node, std::vector<int64_t> spatial,
                 std::vector<int64_t> kernel = {});

// The spatial sizes of the output, unknown if the size of the input is unknown (including SAME
// padding). Throws invalid_argument if no window fits into an input that is not empty.
std::vector<int64_t> window_output(const Window& window, const std::vector<int64_t>& spatial);

// The window in each dimension in the form that kernels use, for the given input and output sizes.
std::vector<kernels::calls::WindowAxis> window_axes(const Window& window,
                                                    std::span<const int64_t> in,
                                                    std::span<const int64_t> out);

}  // namespace poprt::ops
