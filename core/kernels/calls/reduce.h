// reduce: operands [x, y] of one dtype (f32, f64, integers, bool), y with the elements of x's kept
// dimensions in order. Empty reductions give the neutral element (max and min: the lowest and
// highest value). Integer sums and products wrap, means truncate, roots and logarithms truncate and
// saturate.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/common/reduction.h"

namespace poprt::kernels::calls {

struct Reduce {
  static constexpr std::string_view kKernel = "reduce";

  Reduction kind = Reduction::sum;
  std::vector<int64_t> axes;  // of x, that are reduced; the kernel checks them against its rank

  void fields(Fields& f) {
    f.choice("kind", kind, static_cast<Reduction>(kReductionCount - 1));
    f.rest("axes", axes);
    for (int64_t& axis : axes) f.extent("axis", axis, 0);
  }
};

}  // namespace poprt::kernels::calls
