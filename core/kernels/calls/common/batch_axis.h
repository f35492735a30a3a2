// One dimension of a batch of matrix products.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct BatchAxis {
  int64_t count = 1;
  int64_t a = 0, b = 0;  // strides in elements; 0 if the matrix is the same for all indices
  int64_t y = 0;         // stride of the result, used if y_row of a StridedProduct is not 0

  void fields(Fields& f) {
    f.size("count", count);
    f.size("stride of a", a);
    f.size("stride of b", b);
  }
};

}  // namespace poprt::kernels::calls
