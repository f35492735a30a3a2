// non_zero: operands [x, y]. The columns of s64 y [rank, bound] are the indices of the elements of
// x (a type of kernels/common/numbers.h) that are not 0, in order. Columns after the last one
// contain -1.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct NonZero {
  static constexpr std::string_view kKernel = "non_zero";
  static constexpr size_t kMaxRank = 64;

  int64_t bound = 0;          // columns of y
  std::vector<int64_t> dims;  // of x, at most kMaxRank; none for a scalar

  void fields(Fields& f) {
    f.size("bound", bound);
    f.rest("dims", dims, 1, kMaxRank);
    f.sizes("dim", dims);
  }
};

}  // namespace poprt::kernels::calls
