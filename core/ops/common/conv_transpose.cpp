#include "ops/common/conv_transpose.h"

#include <algorithm>

#include "kernels/common/transposed_phases.h"
#include "ops/common/conv.h"

namespace poprt::ops {

TransposedWindow transposed_window_of(const ir::Node& node, const std::vector<int64_t>& spatial,
                                      const std::vector<int64_t>& kernel) {
  // window_of() would resolve auto_pad as for a convolution, which is wrong here. Unknown sizes
  // prevent it.
  const std::vector<int64_t> unknown(spatial.size(), kUnknownDim);
  TransposedWindow t{window_of(node, unknown, kernel), unknown};
  Window& w = t.window;
  const size_t rank = w.rank();
  std::vector<int64_t> padding = node.ints_attr("output_padding", std::vector<int64_t>(rank, 0));
  if (padding.empty()) padding.assign(rank, 0);
  std::vector<int64_t> shape = node.ints_attr("output_shape");
  // Early exporters also wrote N and C.
  if (shape.size() == rank + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (padding.size() != rank || (!shape.empty() && shape.size() != rank))
    fail(ErrorCode::invalid_argument, "{}: output_padding or output_shape does not fit the rank",
         node.describe());
  const std::string auto_pad = node.string_attr("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  for (size_t d = 0; d < rank; d++) {
    if (padding[d] < 0 || padding[d] >= std::max(w.strides[d], w.dilations[d]))
      fail(ErrorCode::invalid_argument,
           "{}: output_padding must be less than the stride or the dilation", node.describe());
    if (spatial[d] == kUnknownDim) {
      if (!shape.empty()) t.out[d] = shape[d];
      continue;
    }
    const int64_t full = (spatial[d] - 1) * w.strides[d] + padding[d] + w.extent(d);
    if (!shape.empty() || same) {
      t.out[d] = shape.empty() ? spatial[d] * w.strides[d] : shape[d];
      const int64_t total = std::max<int64_t>(0, full - t.out[d]);
      w.pads_begin[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pads_end[d] = total - w.pads_begin[d];
    } else {
      t.out[d] = full - w.pads_begin[d] - w.pads_end[d];
    }
    if (t.out[d] < 0 || (t.out[d] == 0 && spatial[d] > 0))
      fail(ErrorCode::invalid_argument,
           "{}: pads are larger than the output: none of {} is left on spatial axis {}",
           node.describe(), full, d);
  }
  return t;
}

bool is_plain_transpose(const ir::Node& conv) {
  const Shape &x = conv.input(0)->shape(), &k = conv.input(1)->shape();
  const std::vector<int64_t> kernel(k.begin() + 2, k.end());
  const auto t = transposed_window_of(conv, spatial_of(*conv.input(0)), kernel);
  if (conv.int_attr("group", 1) != 1) return false;
  for (size_t d = 0; d < kernel.size(); d++)
    if (t.window.strides[d] != kernel[d] || t.window.dilations[d] != 1 ||
        t.window.pads_begin[d] != 0 || t.out[d] != x[d + 2] * kernel[d])
      return false;
  return true;
}

bool poprt_conv_transpose_supported(const ir::Node& conv) {
  if (!has_static_f32_types(conv) || !has_constant_weights(conv)) return false;
  const ir::Value &x = *conv.input(0), &w = *conv.input(1), &y = *conv.output(0);
  const int64_t group = conv.int_attr("group", 1), c = x.shape()[1], m = y.shape()[1];
  if (c < 16 || group < 1 || (group > 1 && (c / group % 16 || m / group % 16))) return false;
  if (is_plain_transpose(conv)) return true;
  if (x.shape().size() == 5) return false;
  const auto t = transposed_window_of(conv, spatial_of(x), spatial_of(w));
  // A phase multiplies zeros where its window is outside the image, which a sum over inputs skips.
  constexpr int64_t kMostWaste = 2;
  int64_t all = kMostWaste * element_count(spatial_of(x));
  for (size_t d = 0; d < t.out.size(); d++) {
    if (t.window.strides[d] > kernels::kMostPhases || t.window.pads_begin[d] < 0) return false;
    all *= t.window.strides[d];
  }
  return element_count(spatial_of(y)) <= all;
}

}  // namespace poprt::ops
