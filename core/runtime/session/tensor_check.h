// Checks the type and the shape of a caller's memory against those that a runner expects.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/runner/runner.h"

namespace poprt::runtime {

// The element type and the shape of a caller's memory.
struct TensorType {
  DType dtype = DType::undefined;
  std::span<const int64_t> shape;
};

// Throws invalid_argument, with the anchor, the expected type and the actual type in the message,
// unless `rows` allows `found` for the anchor. `direction` is "input" or "output".
void check_tensor(const program::Anchor& expected, const RequestRows& rows, const TensorType& found,
                  std::string_view direction);

// Removes padding: moves the part of size `real` at the origin of `data`, so that it is dense.
// `data` has the shape `shape`. Both shapes have the same number of dimensions; no dimension of
// `real` is larger than that of `shape`.
void crop(std::byte* data, DType dtype, std::span<const int64_t> shape,
          std::span<const int64_t> real);

}  // namespace poprt::runtime
