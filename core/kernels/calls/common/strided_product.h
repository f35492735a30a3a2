// A batch of products y[m, n] = alpha * a * b + beta * c of matrices with any strides, so that
// transposed and broadcast operands need no copy. All products of the batch add the same c.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/batch_axis.h"

namespace poprt::kernels::calls {

struct StridedProduct {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_k = 0;  // strides of rows and columns, in elements
  int64_t b_k = 0, b_n = 0;
  int64_t c_row = 0, c_n = 0;
  std::vector<BatchAxis> batch;
  float alpha = 1, beta = 1;
  // The stride of rows of y, which are dense; the axes of the batch have strides of y, too. 0: y is
  // contiguous.
  int64_t y_row = 0;

  void fields(Fields& f) {
    f.size("m", m);
    f.size("n", n);
    f.size("k", k);
    f.size("a_row", a_row);
    f.size("a_k", a_k);
    f.size("b_k", b_k);
    f.size("b_n", b_n);
    f.size("c_row", c_row);
    f.size("c_n", c_n);
    f.length("rank", batch, 0, 64);
    for (BatchAxis& axis : batch) axis.fields(f);
    f.real("alpha", alpha);
    f.real("beta", beta);
    if (!f.has_optional(y_row != 0)) return;
    f.size("y_row", y_row, 1);
    for (BatchAxis& axis : batch) f.size("stride of y", axis.y);
  }
};

}  // namespace poprt::kernels::calls
