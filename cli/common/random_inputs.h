// Random inputs for `poprt --run` and `poprt_exec bench`.
#pragma once

#include <poprt/poprt.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace poprt::cli {

// Fills f32 and f64 from a normal distribution. Values of f16 and bf16 have a random sign and a
// magnitude from 1/8 or 1/4 to 1, so that usual models do not overflow. Elements of other types
// have the bits of 0 or 1, because these integers are valid as indices, masks and ids; elements
// smaller than a byte are not changed. The same seed gives the same bytes in the same build.
void fill_random(const poprt_anchor* anchor, std::byte* data, uint64_t seed);
void fill_random(poprt_dtype dtype, std::byte* data, size_t bytes, uint64_t seed);

// Returns the rows of one request with inputs of these shapes as PopRT counts them: the smallest
// first dimension, or 1 if all inputs are scalars.
int64_t rows_of(const std::vector<std::vector<int64_t>>& shapes);

}  // namespace poprt::cli
