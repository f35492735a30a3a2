// lrn: operands [x, y], f32 or f64 [n, c, pixels]. y = x / (bias + alpha / size * sum of squares of
// the `size` channels around it) ^ beta.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Lrn {
  static constexpr std::string_view kKernel = "lrn";

  int64_t n = 0;
  int64_t c = 0;
  int64_t pixels = 0;
  int64_t size = 1;
  float alpha = 0;
  float beta = 0;
  float bias = 0;

  void fields(Fields& f) {
    f.size("n", n);
    f.size("c", c);
    f.size("pixels", pixels);
    f.size("size", size, 1);
    f.real("alpha", alpha);
    f.real("beta", beta);
    f.real("bias", bias);
  }
};

}  // namespace poprt::kernels::calls
