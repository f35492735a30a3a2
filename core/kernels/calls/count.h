// count: operands [x, y]: s64 scalar y = how many elements of x (any number type or bool) are
// not 0.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Count {
  static constexpr std::string_view kKernel = "count";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls
