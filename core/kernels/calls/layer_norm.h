// layer_norm: operands [x, scale?, bias?, y, mean? [rows], inverse? [rows]], all f32 or all f64,
// x seen as [rows, n]; every row is normalised. Row r and element i use entry (r % period) * (n
// / run) + i / run of scale and bias, so that [rows, n] with period 1 and run 1 is
// LayerNormalization, with period C and run n InstanceNormalization, and so on. `inverse` is 1 /
// standard deviation. y may be x.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct LayerNorm {
  static constexpr std::string_view kKernel = "layer_norm";

  int64_t rows = 0;
  int64_t n = 0;       // elements of a row
  int64_t period = 1;  // rows after which scale and bias repeat
  int64_t run = 1;     // elements that share an entry; divides n
  bool rms = false;    // without subtracting the mean
  float epsilon = 0;

  void fields(Fields& f) {
    f.size("rows", rows);
    f.size("n", n);
    f.size("period", period, 1);
    f.size("run", run, 1);
    f.flag("rms", rms);
    f.real("epsilon", epsilon);
    f.require(n % run == 0, "a row is no multiple of a run");
  }
};

}  // namespace poprt::kernels::calls
