// dft: operands [x, window? [length], y], f32 or f64: discrete Fourier transforms of frames. x is
// [outer, n, inner, parts]. Frame f consists of elements f * step to f * step + length - 1 (0 after
// element n - 1), times the window. y [outer, frames, kept, inner, y_parts] contains results k <
// kept of each frame. An inverse transform has conjugate twiddles and is divided by length.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

struct Dft {
  static constexpr std::string_view kKernel = "dft";

  int64_t outer = 0;
  int64_t n = 0;  // elements of the signal
  int64_t inner = 0;
  int64_t parts = 1;  // of an element of x: 1 real, 2 complex
  int64_t frames = 0;
  int64_t step = 0;    // from one frame to the next
  int64_t length = 1;  // of a frame and of its transform
  int64_t kept = 0;    // results of each
  bool inverse = false;
  int64_t y_parts = 1;  // of a result: 1 real part only, 2 complex
  // x contains half of the spectrum of a real result; the rest is its mirror image
  bool half = false;

  void fields(Fields& f) {
    f.size("outer", outer);
    f.size("n", n);
    f.size("inner", inner);
    f.size("parts", parts, 1, 2);
    f.size("frames", frames, 0, (int64_t{1} << 30) - 1);
    f.size("step", step);
    f.size("length", length, 1, int64_t{1} << 26);
    f.size("kept", kept, 0, length);
    f.flag("inverse", inverse);
    f.size("y_parts", y_parts, 1, 2);
    f.flag("half", half);
  }
};

}  // namespace poprt::kernels::calls
