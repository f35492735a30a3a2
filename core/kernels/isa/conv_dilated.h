// Convolution with stride 1 on channel-blocked activations, tap by tap. Each tap is added only to
// the rectangle of outputs whose inputs are inside the image, so nothing is multiplied by padding.
// Example: dilation 12 on 20 x 20 with padding 12. The centre tap contributes to all 400 outputs, a
// tap in the middle of a side to 160, one in a corner to 64, in total 36 % of the products of 9
// taps for all outputs.
#pragma once

#include "kernels/isa/conv.h"

namespace poprt::kernels::isa {

struct DilatedBlocking {
  int64_t vectors;   // output blocks of a task, which is one register tile wide
  int64_t segments;  // blocks of input channels that all taps process before the next ones
  int64_t rows;      // output rows of a task
  int64_t row_tasks, oc_tasks;
};

// The outputs o in [begin, end) whose input o + shift is in [0, size).
struct Inside {
  int64_t begin, end;
  [[gnu::always_inline]] Inside(int64_t shift, int64_t size, int64_t from, int64_t to)
      : begin(-shift > from ? -shift : from), end(size - shift < to ? size - shift : to) {
    if (end < begin) end = begin;
  }
  [[gnu::always_inline]] int64_t count() const { return end - begin; }
};

struct ConvDilatedTable {
  // The number of output blocks in a tile with the least cost over all taps.
  int64_t (*best_vectors)(const ConvShape& s);
  // Strides are 1; weights are the same as for `conv`. Tasks are numbered by group, image, block of
  // output channels, block of rows, in this order.
  void (*run)(const ConvShape& s, const DilatedBlocking& b, const float* x, const float* weights,
              const float* bias, const float* residual, float* y, int64_t begin,
              int64_t end) noexcept;
};
POPRT_DECLARE_ISA(ConvDilatedTable, conv_dilated)

}  // namespace poprt::kernels::isa
