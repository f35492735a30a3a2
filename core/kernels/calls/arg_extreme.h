// arg_extreme: operands [x, y]. x has a type of kernels/common/numbers.h and is viewed as [outer,
// n, inner]; y is s64 [outer, inner]. y is the index along n of the largest (or smallest) element,
// or of a NaN. Of equal elements the first or the last is chosen.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct ArgExtreme {
  static constexpr std::string_view kKernel = "arg_extreme";

  int64_t outer = 0;
  int64_t n = 1;  // below 2^31
  int64_t inner = 0;
  bool smallest = false;  // instead of the largest
  bool last = false;      // of equal elements, instead of the first

  void fields(Fields& f) {
    f.size("outer", outer);
    f.extent("n", n);
    f.size("inner", inner);
    f.flag("smallest", smallest);
    f.flag("last", last);
  }
};

}  // namespace poprt::kernels::calls
