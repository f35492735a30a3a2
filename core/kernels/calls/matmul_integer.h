// matmul_integer: operands [a, b, a_zero?, b_zero?, y]. y[m, n] = (a - a_zero) * (b - b_zero) for
// u8 / s8 a [m, k] and b [k, n], s32 y, for each product of a batch. a_zero has one element or m,
// b_zero one or n.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/batch_axis.h"

namespace poprt::kernels::calls {

struct MatmulInteger {
  static constexpr std::string_view kKernel = "matmul_integer";

  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool a_rows = false;     // a_zero has an element for each row
  bool b_columns = false;  // b_zero has an element for each column
  std::vector<BatchAxis> batch;

  void fields(Fields& f) {
    f.size("m", m);
    f.size("n", n);
    f.size("k", k);
    f.flag("a_rows", a_rows);
    f.flag("b_columns", b_columns);
    f.length("rank", batch, 0, 16);
    for (BatchAxis& axis : batch) axis.fields(f);
  }
};

}  // namespace poprt::kernels::calls
