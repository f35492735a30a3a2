// The assignment of scales and zero points to the elements of a tensor, viewed as [outer, n,
// inner].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct QuantizationGrid {
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;
  int64_t block = 0;      // parameters are [outer, ceil(n / block), inner]; 0: there are no blocks
  bool per_axis = false;  // without blocks: one for each of n instead of one for all

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("n", n);
    f.size("inner", inner);
    f.size("block", block);
    f.flag("per_axis", per_axis);
  }
};

}  // namespace poprt::kernels::calls
