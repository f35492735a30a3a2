// arg_extreme: operands [x, y], x of one number type seen as [outer, n, inner], y s64 [outer,
// inner]: the index along n of the largest (or smallest) element or of a NaN, the first or the last
// of equals.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct ArgExtreme {
  static constexpr std::string_view kKernel = "arg_extreme";

  int64_t outer = 0;
  int64_t n = 1;  // below 2^31
  int64_t inner = 0;
  bool smallest = false;  // not the largest
  bool last = false;      // of equals, not the first

  void fields(Fields& f) {
    f.size("outer", outer);
    f.extent("n", n);
    f.size("inner", inner);
    f.flag("smallest", smallest);
    f.flag("last", last);
  }
};

}  // namespace poprt::kernels::calls
