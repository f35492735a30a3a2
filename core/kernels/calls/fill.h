// fill: operands [value?, to]: every element of `to` becomes the first of `value`, which has the
// same dtype; without it all bytes become zero.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Fill {
  static constexpr std::string_view kKernel = "fill";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls
