// unique: operands [x, y?, first?, inverse?, counts?] of number types, the latter three s64: the
// different items of x, seen as [outer, n, inner] with n items, in ascending order or in order
// of appearance. y is [outer, bound, inner], first and counts [bound], inverse [n]; places past
// the last item are 0. A NaN equals itself and sorts last.
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
