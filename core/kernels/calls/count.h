// count: operands [x, y]. The s64 scalar y is the number of elements of x (a type of
// kernels/common/numbers.h) that are not 0.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Count {
  static constexpr std::string_view kKernel = "count";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls
