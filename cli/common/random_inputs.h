// Random inputs for `poprt --run` and `poprt_exec bench`.
#pragma once

#include <poprt/poprt.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace poprt::cli {

// Fills floats from a normal distribution, and integers and bools with 0 or 1, because these are
// valid as indices, masks and ids. The same seed gives the same bytes.
void fill_random(const poprt_anchor* anchor, std::byte* data, uint64_t seed);
void fill_random(poprt_dtype dtype, std::byte* data, size_t bytes, uint64_t seed);

// Returns the rows of one request with inputs of these shapes as PopRT counts them: the smallest
// first dimension, or 1 if all inputs are scalars.
int64_t rows_of(const std::vector<std::vector<int64_t>>& shapes);

}  // namespace poprt::cli
