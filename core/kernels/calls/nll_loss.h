// nll_loss: operands [x [n, c, d], target [n, d], weight? [c], y]: f32 or f64 log-probabilities x
// and s32 / s64 target. loss[n, d] = -weight[t] x[n, t, d], or 0 if t is ignored. Targets outside
// [0, c) are ignored as well.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The numbers are part of the file format.
enum class LossReduction : int64_t { none = 0, sum = 1, mean = 2 };  // mean: weighted

struct NllLoss {
  static constexpr std::string_view kKernel = "nll_loss";

  int64_t n = 0;
  int64_t c = 0;  // classes
  int64_t d = 0;  // places of an image
  LossReduction reduction = LossReduction::none;
  bool has_ignored = false;
  int64_t ignored = 0;  // the class whose loss is 0, if there is one

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c);
    f.size("d", d);
    f.choice("reduction", reduction, LossReduction::mean);
    f.flag("has_ignored", has_ignored);
    f.integer("ignored", ignored);
  }
};

}  // namespace poprt::kernels::calls
