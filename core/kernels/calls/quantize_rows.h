// quantize_rows: operands [x (f32) [rows, size], y (s8) [rows, size + 4]]. A row of y contains the
// numbers of a row of x divided by its scale, rounded to the nearest integer, and then the scale
// (f32): the largest magnitude of the row divided by 127, 0 if that magnitude is below 1e-30, or
// NaN if an element is not finite.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct QuantizeRows {
  static constexpr std::string_view kKernel = "quantize_rows";

  int64_t rows = 0;
  int64_t size = 0;

  void fields(Fields& f) {
    f.size("rows", rows);
    f.size("size", size);
  }
};

}  // namespace poprt::kernels::calls
