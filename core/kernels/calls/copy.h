// copy: operands [from, to] of the same size in bytes, with any dtypes and shapes.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Copy {
  static constexpr std::string_view kKernel = "copy";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls
