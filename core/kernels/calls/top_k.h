// top_k: operands [x [outer, n, inner], values?, indices?], results [outer, k, inner]: the k
// largest (or smallest) elements along n in order. If elements are equal, the one with the lower
// index is first. Indices are s64.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct TopK {
  static constexpr std::string_view kKernel = "top_k";

  int64_t outer = 0;
  int64_t n = 0;
  int64_t inner = 0;
  int64_t k = 0;
  bool largest = true;

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("n", n);
    f.size("inner", inner);
    f.size("k", k, 0, n);
    f.flag("largest", largest);
  }
};

}  // namespace poprt::kernels::calls
