// Activations that matmul and convolution kernels can apply to a result before they store it. The
// numbers are part of the file format: append only. `a` and `b` are the two float parameters.
#pragma once

#include <cstdint>

namespace poprt::kernels {

enum class Activation : int64_t {
  none = 0,
  relu = 1,
  clip = 2,     // min(max(x, a), b)
  sigmoid = 3,  // 1 / (1 + exp(-x))
  tanh = 4,
  silu = 5,          // x * sigmoid(a * x), a = 1 for SiLU
  gelu_erf = 6,      // x / 2 * (1 + erf(x / sqrt 2))
  gelu_tanh = 7,     // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
  leaky_relu = 8,    // x < 0 ? a * x : x
  hard_sigmoid = 9,  // max(0, min(1, a * x + b))
  hard_swish = 10,   // x * max(0, min(1, x / 6 + 1 / 2))
  elu = 11,          // x < 0 ? a * (exp(x) - 1) : x
};
inline constexpr int64_t kActivationCount = 12;

}  // namespace poprt::kernels
