// fill: operands [value?, to]. Sets every element of `to` to the first element of `value`, which
// has the same dtype. Without `value`, all bytes become zero.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Fill {
  static constexpr std::string_view kKernel = "fill";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls
