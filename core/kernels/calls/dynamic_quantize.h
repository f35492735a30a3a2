// dynamic_quantize: operands [x, y?, scale?, zero?]. Quantises f32 x of any shape to u8 y over the
// range of x (kernels/common/dynamic_grid.h), and returns the f32 scale and u8 zero point.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct DynamicQuantize {
  static constexpr std::string_view kKernel = "dynamic_quantize";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls
