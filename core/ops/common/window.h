// The sliding window of convolutions and poolings: attributes, auto_pad and output sizes.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "kernels/calls/common/window.h"

namespace poprt::ops {

// One entry per spatial dimension.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
  bool ceil_mode = false;

  size_t rank() const { return kernel.size(); }
  int64_t extent(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  // Size of the output for an input of `in`; kUnknownDim for kUnknownDim. A pooling with ceil_mode
  // drops a last window that would start in the padding.
  int64_t out(size_t d, int64_t in) const;
};

// Reads kernel_shape (or takes `kernel`), strides, dilations, pads, auto_pad and ceil_mode, checks
// them, and resolves auto_pad, for which `spatial` must be known (where it is not, that dimension
// stays unpadded and its output is unknown anyway). Throws invalid_argument naming the node.
Window window_of(const ir::Node& node, std::vector<int64_t> spatial,
                 std::vector<int64_t> kernel = {});

// The output's spatial sizes; unknown where the input's is (SAME padding included). Throws
// invalid_argument when no window fits into an input that is not empty.
std::vector<int64_t> window_output(const Window& window, const std::vector<int64_t>& spatial);

// The window in each of its dimensions as kernels take it, for inputs and outputs of these sizes.
std::vector<kernels::calls::WindowAxis> window_axes(const Window& window,
                                                    std::span<const int64_t> in,
                                                    std::span<const int64_t> out);

}  // namespace poprt::ops
