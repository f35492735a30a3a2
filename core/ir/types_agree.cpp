#include "ir/types_agree.h"

#include <algorithm>

namespace poprt::ir {

bool shapes_agree(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](int64_t x, int64_t y) { return x < 0 || y < 0 || x == y; });
}

bool types_agree(const ValueType& a, const ValueType& b) {
  if (a.dtype != DType::undefined && b.dtype != DType::undefined && a.dtype != b.dtype)
    return false;
  return !a.has_shape || !b.has_shape || shapes_agree(a.shape, b.shape);
}

}  // namespace poprt::ir
