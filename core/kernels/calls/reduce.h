// reduce: operands [x, y] of one dtype (f32, f64, integers, bool). y contains the elements for the
// kept dimensions of x in order. The result of an empty reduction is the neutral element (for max
// and min: the lowest and highest value), but means of floats are NaN. Integer sums and products
// wrap, means are truncated, roots and logarithms are truncated and saturated.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/common/reduction.h"

namespace poprt::kernels::calls {

struct Reduce {
  static constexpr std::string_view kKernel = "reduce";

  Reduction kind = Reduction::sum;
  std::vector<int64_t> axes;  // reduced axes of x; the kernel checks them against the rank of x

  void fields(Fields& f) {
    f.choice("kind", kind, static_cast<Reduction>(kReductionCount - 1));
    f.rest("axes", axes);
    for (int64_t& axis : axes) f.extent("axis", axis, 0);
  }
};

}  // namespace poprt::kernels::calls
