// What callers say their memory holds, against what a runner expects.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/runner/runner.h"

namespace poprt::runtime {

// Elements and shape of a caller's memory.
struct TensorType {
  DType dtype = DType::undefined;
  std::span<const int64_t> shape;
};

// Throws invalid_argument naming the anchor, what is expected and what was found, unless `found` is
// what `rows` allows for the anchor. `direction` is "input" or "output".
void check_tensor(const program::Anchor& expected, const RequestRows& rows, const TensorType& found,
                  std::string_view direction);

// Moves the part of `data` that is real, `real` of `shape` from the origin, together, so that it is
// dense. Both have as many dimensions; no dimension of `real` is larger.
void crop(std::byte* data, DType dtype, std::span<const int64_t> shape,
          std::span<const int64_t> real);

}  // namespace poprt::runtime
