// batch_normalization: operands [x [n, channels, pixels], scale, bias, mean, variance [channels],
// y]. y = (x - mean) / sqrt(variance + epsilon) * scale + bias. x and y have the same float dtype;
// the parameters have the same float dtype (f32, f64, f16 or bf16).
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct BatchNormalization {
  static constexpr std::string_view kKernel = "batch_normalization";

  int64_t n = 0;
  int64_t channels = 0;
  int64_t pixels = 0;
  float epsilon = 0;

  void fields(Fields& f) {
    f.size("n", n);
    f.size("channels", channels, 1);
    f.size("pixels", pixels);
    f.real("epsilon", epsilon);
  }
};

}  // namespace poprt::kernels::calls
