// Sizes and axes, which opset 1 provides in the type of the data.
#pragma once

#include <cmath>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace poprt::ops {

// Throws invalid_argument if an element is not an integer.
inline std::vector<int64_t> whole_numbers(const ir::Node& node, const Tensor& given) {
  std::vector<int64_t> whole;
  for (const double v : given.to_doubles()) {
    if (!(std::fabs(v) < 0x1p53) || v != std::floor(v))
      fail(ErrorCode::invalid_argument, "{}: {} is not a whole number", node.describe(), v);
    whole.push_back(static_cast<int64_t>(v));
  }
  return whole;
}

}  // namespace poprt::ops
