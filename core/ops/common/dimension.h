// Access to a dimension of a value whose rank has not been checked.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// Throws invalid_argument naming the value if it has fewer dimensions.
inline int64_t dimension(const Expansion& e, const ir::Value* v, size_t axis) {
  const Shape& shape = e.shape_of(v);
  if (axis >= shape.size())
    fail(ErrorCode::invalid_argument, "'{}' is {}, expected at least {} dimensions", v->name(),
         shape_string(shape), axis + 1);
  return shape[axis];
}

}  // namespace poprt::ops
