// What matmul and convolution kernels do to a result before they store it:
// y = act(x + bias + residual), or y = act(x + bias) + residual.
#pragma once

#include <cstdint>

namespace poprt::kernels::isa {

struct Epilogue {
  int64_t activation = 0;  // kernels::Activation
  float a = 0, b = 0;      // its parameters
  bool residual_after = false;

  // How tile kernels apply it: none and clamp in registers, the rest by a second pass over the tile
  // that was just stored.
  enum Mode : int32_t { plain, clamp, general };
  Mode mode = plain;
  float low = 0, high = 0;  // of clamp
};

}  // namespace poprt::kernels::isa
