// Shapes are plain vectors of dimensions; a static shape has no negative one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace poprt {

using Shape = std::vector<int64_t>;

inline constexpr int64_t kUnknownDim = -1;

// Product of the dimensions; 1 for a scalar. Throws out_of_range on overflow or a negative
// dimension.
int64_t element_count(std::span<const int64_t> shape);

// True when no dimension is kUnknownDim.
bool is_static(std::span<const int64_t> shape);

// "[2,3]"; unknown dimensions print as "?".
std::string shape_string(std::span<const int64_t> shape);

// NumPy broadcasting of two shapes (unknown dimensions allowed: unknown with 1 or unknown stays
// unknown, unknown with n > 1 is n). Throws invalid_argument naming both shapes.
Shape broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b);

// Row-major strides in elements.
std::vector<int64_t> contiguous_strides(std::span<const int64_t> shape);

// Maps an axis in [-rank, rank) to [0, rank). Throws invalid_argument.
int64_t normalize_axis(int64_t axis, int64_t rank);

}  // namespace poprt
