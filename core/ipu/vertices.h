// Cycles of vertices on one tile that do not multiply matrices: elementwise operations, casts,
// copies, reductions, gathers, pooling. `n` is the number of elements on the tile.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"
#include "ipu/target.h"

namespace poprt::ipu {

// Elementwise operations, which differ in the cycles of their loops.
enum class Elementwise : uint8_t {
  add,
  div,
  max,
  compare,
  pow,
  remainder,
  square,
  erf,
  gelu_erf,
  round,
  select,
  exp,
  log,
  tanh,
  sigmoid,
  relu,
  sqrt,
  rsqrt,
  inverse,
  sin,
  tan,
  integer_div,
  gelu_tanh,
  swish,
  copy,
};

// The vertex of an operation of `operands` tensors; `scalar`: all but the first are scalars.
int64_t elementwise_cycles(const Target& target, Elementwise op, DType type, int64_t n,
                           int64_t operands = 1, bool scalar = false);

int64_t cast_cycles(const Target& target, DType from, DType to, int64_t n);
int64_t fill_cycles(const Target& target, DType type, int64_t n);
// A copy inside the memory of a tile, in pieces of `piece` contiguous bytes.
int64_t copy_cycles(const Target& target, int64_t bytes, int64_t piece);
// A rearrangement by scalar code in pieces of `piece` bytes, from a regression that the chip's
// library contains.
int64_t rearrangement_cycles(int64_t bytes, int64_t piece);
// Transposes blocks of 4x4 halves, or 2x2 floats.
int64_t transpose_cycles(const Target& target, DType type, int64_t n);
// Sums `depth` partial results of `n` elements each, which are separate or contiguous.
int64_t reduce_add_cycles(const Target& target, DType type, int64_t n, int64_t depth,
                          bool contiguous = false);
// Reduces n elements to `results`; `contiguous`: neighbours are summed.
int64_t reduce_cycles(const Target& target, DType type, int64_t n, int64_t results,
                      bool contiguous);
// Looks up `indices` rows of `row` elements, of which `found` are on the tile.
int64_t gather_cycles(const Target& target, DType type, int64_t row, int64_t indices,
                      int64_t found);
// Adds rows of `row` elements to a part of a table: `indices` places, of which `found` are on the
// tile.
int64_t update_add_cycles(const Target& target, DType type, int64_t row, int64_t indices,
                          int64_t found);
// Reads or replaces n elements of a tensor, whose position is chosen when the program runs.
int64_t dynamic_slice_cycles(const Target& target, DType type, int64_t n);
int64_t pool_cycles(const Target& target, DType type, int64_t channels, int64_t field,
                    int64_t taps);

}  // namespace poprt::ipu
