// sum_bytes: operands [x [outer, n, inner] (u8 or s8), y s32 [outer, inner]]. y[o, i] is the sum of
// x[o, :, i].
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct SumBytes {
  static constexpr std::string_view kKernel = "sum_bytes";

  int64_t outer = 0;
  int64_t n = 0;  // limited so that the sum fits into s32
  int64_t inner = 0;

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("n", n, 0, int64_t{1} << 23);
    f.size("inner", inner);
  }
};

}  // namespace poprt::kernels::calls
