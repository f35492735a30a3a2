// The functions that matmul and convolution kernels apply to a result before they store it: y =
// act(x + bias + residual), or y = act(x + bias) + residual.
#pragma once

#include <cstdint>

namespace poprt::kernels::isa {

struct Epilogue {
  int64_t activation = 0;  // kernels::Activation
  float a = 0, b = 0;      // its parameters
  bool residual_after = false;

  // How tile kernels apply it: no activation and clamping in registers, others in a second pass
  // over the tile that was just stored.
  enum Mode : int32_t { plain, clamped, general };
  Mode mode = plain;
  float low = 0, high = 0;  // of clamped
};

// The destination of a tile: `c` with strides in floats, the last vector cut to `lanes`. `bias` has
// room for whole vectors; `residual` has the vectors of c, in rows residual_row apart. A tile that
// is not `last` stores raw sums, and a tile that is not `first` adds the sums that an earlier one
// stored.
struct TileOut {
  float* c;
  int64_t c_row, c_vector;
  int64_t lanes;
  const float* bias;
  const float* residual;
  int64_t residual_row;
  const Epilogue* epilogue;
  bool first, last;
};

}  // namespace poprt::kernels::isa
