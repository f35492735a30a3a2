// dynamic_time_warping: operands [costs, path, length, steps]. costs is f32 [rows, columns]; path,
// s32 [2, rows + columns - 1], contains the rows and columns of the cheapest path from the first to
// the last element, where each step goes to the next row, the next column or both. The s64 scalar
// length is the number of its elements; the places after them are -1. steps, u8 [rows, columns], is
// temporary.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct DynamicTimeWarping {
  static constexpr std::string_view kKernel = "dynamic_time_warping";

  int64_t rows = 1;
  int64_t columns = 1;

  void fields(Fields& f) {
    f.size("rows", rows, 1);
    f.size("columns", columns, 1);
  }
};

}  // namespace poprt::kernels::calls
