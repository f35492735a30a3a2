// Tuples of indices that name slices: what gather_nd and scatter_nd share. Ints [batch, count,
// depth, slice, dims[depth]...]: the data is [batch, dims..., slice] elements, the indices [batch,
// count, depth], the slices [batch, count, slice].
#pragma once

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "kernels/common/elements.h"

namespace poprt::kernels {

struct IndexedSlices {
  int64_t batch = 0, count = 0, depth = 0, slice = 0, volume = 1;
  std::vector<int64_t> dims;
  bool wide = true;

  // First element of the slice that tuple t (over all batches) names, or -1 when it names none.
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

inline IndexedSlices read_indexed_slices(const Call& call, size_t first, const Operand& data,
                                         const Operand& indices, const Operand& slices,
                                         std::string_view kernel) {
  const auto ints = call.ints.subspan(std::min(first, call.ints.size()));
  expect(ints.size() >= 4, kernel, "expected batch, count, depth, slice and dimensions");
  for (const int64_t i : ints) expect(i >= 0, kernel, "negative size");
  IndexedSlices s;
  s.batch = ints[0];
  s.count = ints[1];
  s.depth = ints[2];
  s.slice = ints[3];
  expect(static_cast<uint64_t>(s.depth) == ints.size() - 4, kernel,
         "expected one dimension for each index");
  s.dims.assign(ints.begin() + 4, ints.end());
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
  return s;
}

}  // namespace poprt::kernels
