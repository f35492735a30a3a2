#include "ops/common/conv_transpose.h"

#include <algorithm>

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

}  // namespace poprt::ops
