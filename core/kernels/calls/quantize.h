// quantize: operands [x, scale, zero?, y]. y = saturate(round(x / scale) + zero), with ties to
// even. For f8 and f4 results, x / scale + zero is rounded to the format instead.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/quantization_grid.h"

namespace poprt::kernels::calls {

struct Quantize {
  static constexpr std::string_view kKernel = "quantize";

  QuantizationGrid grid;
  bool saturate = true;  // for f8 only

  void fields(Fields& f) {
    grid.fields(f);
    f.flag("saturate", saturate);
  }
};

}  // namespace poprt::kernels::calls
