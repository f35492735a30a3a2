// dequantize: operands [x, scale, zero?, y]: y = (x - zero) * scale.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/quantization_grid.h"

namespace poprt::kernels::calls {

struct Dequantize {
  static constexpr std::string_view kKernel = "dequantize";

  QuantizationGrid grid;

  void fields(Fields& f) { grid.fields(f); }
};

}  // namespace poprt::kernels::calls
