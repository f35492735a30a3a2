// Tuples of indices that address slices: code shared by gather_nd and scatter_nd.
#pragma once

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "kernels/calls/common/indexed_slices.h"
#include "kernels/common/elements.h"
#include "kernels/common/outside.h"

namespace poprt::kernels {

struct IndexedSlices {
  int64_t batch = 0, count = 0, depth = 0, slice = 0, volume = 1;
  std::vector<int64_t> dims;
  bool wide = true;

  // Reports the first index of tuple t that is outside the data.
  [[gnu::cold, gnu::noinline]] void report(const Outside& outside, const void* indices,
                                           int64_t t) const noexcept {
    for (int64_t d = 0; d < depth; d++) {
      const int64_t size = dims[static_cast<size_t>(d)];
      const int64_t index = load_index(indices, wide, t * depth + d);
      if (index < -size || index >= size) return outside.found(t * depth + d, index, size);
    }
  }

  // The first element of the slice at tuple t (over all batches), or -1 if the tuple is outside the
  // data.
  int64_t origin(const void* indices, int64_t t) const noexcept {
    int64_t at = 0;
    for (int64_t d = 0; d < depth; d++) {
      const int64_t size = dims[static_cast<size_t>(d)];
      int64_t i = load_index(indices, wide, t * depth + d);
      if (i < 0) i += size;
      if (i < 0 || i >= size) return -1;
      at = at * size + i;
    }
    return (t / count * volume + at) * slice;
  }
};

// Checks the operands against `at`. Throws invalid_argument naming the kernel, or out_of_range if a
// size overflows.
inline IndexedSlices read_indexed_slices(const calls::IndexedSlices& at, const Operand& data,
                                         const Operand& indices, const Operand& slices,
                                         std::string_view kernel) {
  IndexedSlices s;
  s.batch = at.batch;
  s.count = at.count;
  s.depth = static_cast<int64_t>(at.dims.size());
  s.slice = at.slice;
  s.dims = at.dims;
  s.volume = element_count(s.dims);
  s.wide = indices.dtype == DType::s64;
  expect(is_index(indices.dtype), kernel, "indices must be s32 or s64");
  expect(data.dtype == slices.dtype, kernel, "dtypes differ");
  const int64_t tuples = checked_mul(s.batch, s.count);
  expect(
      dtype_bytes(data.dtype, checked_mul(checked_mul(s.batch, s.volume), s.slice)) <= data.bytes &&
          dtype_bytes(indices.dtype, checked_mul(tuples, s.depth)) <= indices.bytes &&
          dtype_bytes(slices.dtype, checked_mul(tuples, s.slice)) <= slices.bytes,
      kernel, "an operand is too short");
  // Without indices and elements, no operand limits the number of tuples.
  if (s.depth == 0 && s.slice == 0) s.count = 0;
  return s;
}

}  // namespace poprt::kernels
