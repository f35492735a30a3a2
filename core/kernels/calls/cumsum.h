// cumsum: operands [x, y] of one type of kernels/common/numbers.h, viewed as [outer, n, inner]:
// running sums (or products) along n.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Cumsum {
  static constexpr std::string_view kKernel = "cumsum";

  int64_t outer = 0;
  int64_t n = 0;
  int64_t inner = 0;
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // starting at the last element
  bool product = false;    // products instead of sums

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("n", n);
    f.size("inner", inner);
    f.flag("exclusive", exclusive);
    f.flag("reverse", reverse);
    f.flag("product", product);
  }
};

}  // namespace poprt::kernels::calls
