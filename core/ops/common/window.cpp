#include "ops/common/window.h"

#include <algorithm>

#include "base/checked.h"

namespace poprt::ops {

int64_t Window::out(size_t d, int64_t in) const {
  if (in == kUnknownDim) return kUnknownDim;
  const int64_t room = in + pads_begin[d] + pads_end[d] - extent(d);
  if (!ceil_mode) return room < 0 ? 0 : room / strides[d] + 1;
  // With ceil_mode, a window may exceed the padded input by less than a stride. This also applies
  // to the first window, so `room` may be negative.
  const int64_t reach = room + strides[d] - 1;
  if (reach < 0) return 0;
  int64_t count = reach / strides[d] + 1;
  if ((count - 1) * strides[d] >= in + pads_begin[d]) count--;
  return count;
}

std::vector<int64_t> window_output(const Window& window, const std::vector<int64_t>& spatial) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < window.rank(); d++) {
    out.push_back(window.out(d, spatial[d]));
    if (out.back() == 0 && spatial[d] > 0)
      fail(ErrorCode::invalid_argument,
           "no output is left on spatial axis {}: a kernel of {} with dilation {} reaches over {}, "
           "the input has {} with pads {} and {}",
           d, window.kernel[d], window.dilations[d], window.extent(d), spatial[d],
           window.pads_begin[d], window.pads_end[d]);
  }
  return out;
}

Window window_of(const ir::Node& node, std::vector<int64_t> spatial, std::vector<int64_t> kernel) {
  const auto bad = [&](std::string_view what) {
    fail(ErrorCode::invalid_argument, "{}: {}", node.describe(), what);
  };
  constexpr int64_t kLimit = int64_t{1} << 31;
  const size_t rank = spatial.size();
  Window w;
  w.kernel = node.ints_attr("kernel_shape", kernel);
  if (!kernel.empty() && w.kernel != kernel)
    fail(ErrorCode::invalid_argument, "{}: kernel_shape {} differs from the weights' {}",
         node.describe(), shape_string(w.kernel), shape_string(kernel));
  w.strides = node.ints_attr("strides", std::vector<int64_t>(rank, 1));
  w.dilations = node.ints_attr("dilations", std::vector<int64_t>(rank, 1));
  w.ceil_mode = node.int_attr("ceil_mode", 0) != 0;
  std::vector<int64_t> pads = node.ints_attr("pads", std::vector<int64_t>(2 * rank, 0));
  if (w.strides.empty()) w.strides.assign(rank, 1);
  if (w.dilations.empty()) w.dilations.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (w.kernel.size() != rank || w.strides.size() != rank || w.dilations.size() != rank ||
      pads.size() != 2 * rank)
    bad("kernel_shape, strides, dilations or pads do not fit the input's rank");
  for (const auto* list : {&w.kernel, &w.strides, &w.dilations})
    for (const int64_t v : *list)
      if (v < 1 || v >= kLimit) bad("kernel_shape, strides and dilations must be positive");
  for (const int64_t v : pads)
    if (v < 0)
      bad(fmt::format("pads {} are negative, a window is padded by 0 or more", v));
    else if (v >= kLimit)
      bad("pads are out of range");
  w.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  w.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  for (size_t d = 0; d < rank; d++)
    if (checked_mul(w.kernel[d] - 1, w.dilations[d]) >= kLimit) bad("the window is too large");

  const std::string auto_pad = node.string_attr("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET" || auto_pad.empty()) return w;
  if (auto_pad != "VALID" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER")
    bad("auto_pad '" + auto_pad + "' is unknown");
  for (size_t d = 0; d < rank; d++) {
    w.pads_begin[d] = w.pads_end[d] = 0;
    if (auto_pad == "VALID" || spatial[d] == kUnknownDim) continue;
    const int64_t out = (spatial[d] + w.strides[d] - 1) / w.strides[d];
    const int64_t total = std::max<int64_t>(0, (out - 1) * w.strides[d] + w.extent(d) - spatial[d]);
    w.pads_begin[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pads_end[d] = total - w.pads_begin[d];
  }
  // SAME means ceil(in / stride) windows, independent of ceil_mode.
  if (auto_pad != "VALID") w.ceil_mode = false;
  return w;
}

std::vector<kernels::calls::WindowAxis> window_axes(const Window& window,
                                                    std::span<const int64_t> in,
                                                    std::span<const int64_t> out) {
  std::vector<kernels::calls::WindowAxis> axes;
  for (size_t d = 0; d < window.rank(); d++)
    axes.push_back({.in = in[d],
                    .out = out[d],
                    .kernel = window.kernel[d],
                    .stride = window.strides[d],
                    .pad = window.pads_begin[d],
                    .dilation = window.dilations[d]});
  return axes;
}

}  // namespace poprt::ops
