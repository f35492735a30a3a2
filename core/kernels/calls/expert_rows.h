// expert_rows: operands [x, weights, chosen, y]. Row r of y [rows, columns] is row r / share of x
// [rows / share, depth] times the transpose of weights[chosen[r]]; weights are [experts, columns,
// depth], f32 or f16, and chosen is s64 [rows]. A row whose expert does not exist is 0. x and y are
// f32.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct ExpertRows {
  static constexpr std::string_view kKernel = "expert_rows";

  int64_t rows = 0;
  int64_t share = 1;  // the number of rows of y for a row of x
  int64_t experts = 1;
  int64_t columns = 0;
  int64_t depth = 0;

  void fields(Fields& f) {
    f.size("rows", rows);
    f.size("share", share, 1);
    f.size("experts", experts, 1);
    f.size("columns", columns);
    f.size("depth", depth);
    f.require(rows % share == 0, "rows must be a multiple of share");
  }
};

}  // namespace poprt::kernels::calls
