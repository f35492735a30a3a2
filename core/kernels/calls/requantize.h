// requantize: operands [sums, a_scale, b_scale, y_scale, y_zero, y]. y = saturate(round(sums *
// a_scale * b_scale / y_scale) + y_zero), with ties to even. sums is s32 [outer, rows, columns], y
// is u8 or s8. Scales are f32, f16 or bf16; y_scale and y_zero have one element.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Requantize {
  static constexpr std::string_view kKernel = "requantize";

  int64_t outer = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  bool a_row = false;     // a_scale has an element for each row instead of one
  bool b_row = false;     // b_scale has an element for each row instead of one
  bool b_column = false;  // b_scale has an element for each column

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("rows", rows);
    f.size("columns", columns);
    f.flag("a_row", a_row);
    f.flag("b_row", b_row);
    f.flag("b_column", b_column);
    f.require(!(b_row && b_column), "b_row and b_column exclude each other");
  }
};

}  // namespace poprt::kernels::calls
