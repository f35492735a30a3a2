// max_unpool: operands [x, indices, y] of one dtype of whole bytes, s64 indices: y is zero, then
// y[indices[i]] = x[i] (indices count elements of the unpadded result `dims`; those outside are
// dropped). y may be larger: then the result lies at its start of every dimension.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct MaxUnpool {
  static constexpr std::string_view kKernel = "max_unpool";

  int64_t count = 0;           // elements of x
  std::vector<int64_t> dims;   // of the unpadded result
  std::vector<int64_t> large;  // of y

  void fields(Fields& f) {
    f.size("count", count);
    f.length("rank", dims, 1, 64);
    large.resize(dims.size());
    f.sizes("dim", dims);
    f.sizes("dim of y", large);
    for (size_t d = 0; d < dims.size(); d++)
      f.require(dims[d] <= large[d], "the result does not hold its content");
  }
};

}  // namespace poprt::kernels::calls
