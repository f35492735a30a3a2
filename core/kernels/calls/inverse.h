// inverse: operands [x, y], f32 [matrices, n, n]: inverses, computed in double. The inverse of a
// singular matrix contains infinities and NaN.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Inverse {
  static constexpr std::string_view kKernel = "inverse";

  int64_t matrices = 0;
  int64_t n = 0;  // rows and columns of each

  void fields(Fields& f) {
    f.size("matrices", matrices);
    f.size("n", n);
  }
};

}  // namespace poprt::kernels::calls
