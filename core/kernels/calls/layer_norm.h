// layer_norm: operands [x, scale?, bias?, y, mean? [rows], inverse? [rows]], all f32 or all f64. x
// is viewed as [rows, n]; every row is normalised. Element i of row r uses element (r % period) *
// (n / run) + i / run of scale and bias. LayerNormalization has period 1 and run 1,
// InstanceNormalization period C and run n, and so on. `inverse` is 1 / standard deviation. y may
// be x.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct LayerNorm {
  static constexpr std::string_view kKernel = "layer_norm";

  int64_t rows = 0;
  int64_t n = 0;       // elements of a row
  int64_t period = 1;  // scale and bias repeat after this number of rows
  int64_t run = 1;     // number of elements that share an element of scale and bias; divides n
  bool rms = false;    // without subtracting the mean
  float epsilon = 0;

  void fields(Fields& f) {
    f.size("rows", rows);
    f.size("n", n);
    f.size("period", period, 1);
    f.size("run", run, 1);
    f.flag("rms", rms);
    f.real("epsilon", epsilon);
    f.require(n % run == 0, "the size of a row is not a multiple of a run");
  }
};

}  // namespace poprt::kernels::calls
