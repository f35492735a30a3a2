// unique: operands [x, y?, first?, inverse?, counts?]. x and y have one type of
// kernels/common/numbers.h, the others are s64. x is viewed as [outer, n, inner] with n items; y
// contains the distinct items in ascending order or in the order of appearance. y is [outer, bound,
// inner], first and counts are [bound], inverse is [n]. Places after the last item contain 0. A NaN
// is equal to itself and is last in the order.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Unique {
  static constexpr std::string_view kKernel = "unique";

  int64_t outer = 0;
  int64_t n = 0;
  int64_t inner = 0;
  bool sorted = false;
  int64_t bound = 0;  // room for items

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("n", n);
    f.size("inner", inner);
    f.flag("sorted", sorted);
    f.size("bound", bound);
  }
};

}  // namespace poprt::kernels::calls
