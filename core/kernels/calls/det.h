// det: operands [x [matrices, n, n], y [matrices]], f32 or f64: determinants, summed in double.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Det {
  static constexpr std::string_view kKernel = "det";

  int64_t matrices = 0;
  int64_t n = 0;  // rows and columns of each

  void fields(Fields& f) {
    f.size("matrices", matrices);
    f.size("n", n);
  }
};

}  // namespace poprt::kernels::calls
