// max_unpool: operands [x, indices, y]. x and y have one dtype of whole bytes, indices are s64. y
// is zero except y[indices[i]] = x[i]. Indices address elements of the unpadded result `dims`;
// those outside are dropped and, if `checked`, are a failure of the run. y may be larger than
// `dims`; the result is then at the start of every dimension.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct MaxUnpool {
  static constexpr std::string_view kKernel = "max_unpool";

  int64_t count = 0;           // elements of x
  std::vector<int64_t> dims;   // of the unpadded result
  std::vector<int64_t> large;  // of y
  bool checked = false;

  void fields(Fields& f) {
    f.size("count", count);
    f.length("rank", dims, 1, 64);
    large.resize(dims.size());
    f.sizes("dim", dims);
    f.sizes("dim of y", large);
    for (size_t d = 0; d < dims.size(); d++)
      f.require(dims[d] <= large[d], "the result is smaller than its content");
    f.later_flag("checked", checked);
  }
};

}  // namespace poprt::kernels::calls
