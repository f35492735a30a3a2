// softmax: operands [x, y], f32 or f64, viewed as [outer, n, inner]: the softmax along n. y may be
// x.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The numbers are part of the file format.
enum class SoftmaxMode : int64_t {
  softmax = 0,
  logarithm = 1,  // the logarithm of the softmax
  hardmax = 2,    // 1 at the first largest element, 0 elsewhere
};

struct Softmax {
  static constexpr std::string_view kKernel = "softmax";

  int64_t outer = 0;
  int64_t n = 0;
  int64_t inner = 0;
  SoftmaxMode mode = SoftmaxMode::softmax;

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("n", n);
    f.size("inner", inner);
    f.choice("mode", mode, SoftmaxMode::hardmax);
  }
};

}  // namespace poprt::kernels::calls
