// Tuples of indices that address slices: fields shared by gather_nd and scatter_nd. The data is
// [batch, dims..., slice], the indices are [batch, count, depth], the slices [batch, count, slice].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct IndexedSlices {
  int64_t batch = 0;
  int64_t count = 0;          // tuples
  int64_t slice = 0;          // elements
  std::vector<int64_t> dims;  // the dimensions that a tuple addresses

  void fields(Fields& f) {
    f.size("batch", batch);
    f.size("count", count);
    f.length("depth", dims, 0, 64);
    f.size("slice", slice);
    f.sizes("dim", dims);
  }
};

}  // namespace poprt::kernels::calls
