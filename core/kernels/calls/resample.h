// resample: operands [from [outer, in, inner], to [outer, out, inner]]. Every result along one axis
// is a weighted sum of `taps` sources. It is used for linear and cubic resizing, with one call for
// each axis. One of the dtypes is a type T (f16, bf16, f32, f64, s64, or an integer of 8, 16 or 32
// bits except u32), and the other is T or the type of the sums (f32, or f64 for f64, s32 and s64).
// For f64 the operands may be [from, weights, to], with f64 weights instead of the field below.
// Integers are truncated towards zero and saturated.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Resample {
  static constexpr std::string_view kKernel = "resample";

  int64_t outer = 0;
  int64_t in = 0;
  int64_t inner = 0;
  int64_t out = 0;
  int64_t taps = 1;
  // [out, taps]: the sources; if the first is -1, the result is `outside`
  std::vector<int64_t> index;
  std::vector<float> weights;  // [out, taps]
  float outside = 0;

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("in", in, 0, kMostExtent);
    f.size("inner", inner);
    f.size("out", out, 0, kMostExtent);
    f.size("taps", taps, 1, kMostExtent);
    f.rest("index", index);
    f.require(static_cast<int64_t>(index.size()) == out * taps, "expected out * taps sources");
    weights.resize(index.size());
    for (size_t i = 0; i < index.size(); i++) {
      const bool first = static_cast<int64_t>(i) % taps == 0;
      f.integer("index", index[i], first ? -1 : 0, in - 1);
      f.real("weight", weights[i]);
    }
    f.real("outside", outside);
  }
};

}  // namespace poprt::kernels::calls
