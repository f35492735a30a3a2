// strided_copy: operands [from, to]. to[to_offset + sum(i * to_strides)] = from[from_offset + sum(i
// * from_strides)] for every index i inside dims. All numbers are in elements. It implements
// Transpose, Concat, Split, Slice, Expand, Tile, DepthToSpace and others. No two indices may write
// the same element.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct StridedCopy {
  static constexpr std::string_view kKernel = "strided_copy";

  static constexpr int64_t kMostDims = 16;
  int64_t size = 1;  // of an element, in bytes: a power of two
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  std::vector<int64_t> dims;          // at most kMostDims
  std::vector<int64_t> from_strides;  // may be negative or zero
  std::vector<int64_t> to_strides;

  void fields(Fields& f) {
    f.size("size", size, 1, 16);
    f.require((size & (size - 1)) == 0, "the size of an element is not a power of two");
    f.length("rank", dims, 0, kMostDims);
    from_strides.resize(dims.size());
    to_strides.resize(dims.size());
    f.integer("from_offset", from_offset);
    f.integer("to_offset", to_offset);
    f.sizes("dim", dims);
    for (int64_t& stride : from_strides) f.integer("stride of from", stride);
    for (int64_t& stride : to_strides) f.integer("stride of to", stride, 0);
  }
};

}  // namespace poprt::kernels::calls
