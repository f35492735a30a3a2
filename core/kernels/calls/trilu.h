// trilu: operands [from, k? (one s64), to], matrices of one dtype: the upper (columns >= row + k)
// or lower (columns <= row + k) part, with zero bytes elsewhere. Without the operand, k is 0.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Trilu {
  static constexpr std::string_view kKernel = "trilu";

  int64_t matrices = 0;
  int64_t rows = 0;  // of each
  int64_t columns = 0;
  bool upper = false;

  void fields(Fields& f) {
    f.size("matrices", matrices);
    f.size("rows", rows);
    f.size("columns", columns);
    f.flag("upper", upper);
  }
};

}  // namespace poprt::kernels::calls
