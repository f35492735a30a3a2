// dynamic_quantize: operands [x, y?, scale?, zero?]: f32 x of any shape to u8 y over its own
// range (kernels/common/dynamic_grid.h), with the f32 scale and u8 zero point that it gave.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct DynamicQuantize {
  static constexpr std::string_view kKernel = "dynamic_quantize";

  void fields(Fields&) {}
};

}  // namespace poprt::kernels::calls
