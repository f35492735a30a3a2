// select: operands [condition bool [1], a, b, y], the last three of equal sizes. y = condition ? a
// : b.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Select {
  static constexpr std::string_view kKernel = "select";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls
