// A shape is a plain vector of dimensions. A static shape has no negative dimension.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace poprt {

using Shape = std::vector<int64_t>;

inline constexpr int64_t kUnknownDim = -1;

// The product of the dimensions; 1 for a scalar. Throws out_of_range on overflow or for a negative
// dimension.
int64_t element_count(std::span<const int64_t> shape);

// True if no dimension is unknown or otherwise negative.
bool is_static(std::span<const int64_t> shape);

// For example "[2,3]"; an unknown dimension prints as "?".
std::string shape_string(std::span<const int64_t> shape);

// Returns the shape to which NumPy broadcasts both shapes. An unknown dimension stays unknown next
// to 1 or another unknown one; next to any other n it becomes n. If the shapes do not broadcast,
// throws invalid_argument with both shapes in the message.
Shape broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b);

// Row-major strides in elements of a static shape. Throws out_of_range if a product overflows.
std::vector<int64_t> contiguous_strides(std::span<const int64_t> shape);

// Maps an axis in [-rank, rank) to [0, rank). Throws invalid_argument.
int64_t normalize_axis(int64_t axis, int64_t rank);

}  // namespace poprt
