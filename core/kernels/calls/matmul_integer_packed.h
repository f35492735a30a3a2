// matmul_integer_packed: operands [a, panels, column_sums, a_zero?, b_zero?, y]. y[m, n] = (a -
// a_zero) * (b - b_zero) for u8 / s8 a [m, k], s32 y and a constant b [k, n] that
// kernels/common/pack_vnni.h packed. a_zero has one element or m, b_zero one or n.
//
// There may be three more operands before y, [a_scale, b_scale, bias?]. Then y is f32 and y[m, n] =
// product * (a_scale * b_scale[n]) + bias[n]. In this case b is symmetric and has no other zero
// point; b_scale has one element or n.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct MatmulIntegerPacked {
  static constexpr std::string_view kKernel = "matmul_integer_packed";

  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool a_rows = false;     // a_zero has an element for each row
  bool b_columns = false;  // b_zero has an element for each column
  bool b_signed = false;   // b was s8 instead of u8

  void fields(Fields& f) {
    f.size("m", m);
    f.size("n", n);
    f.size("k", k);
    f.flag("a_rows", a_rows);
    f.flag("b_columns", b_columns);
    f.flag("b_signed", b_signed);
  }
};

}  // namespace poprt::kernels::calls
