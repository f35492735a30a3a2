// Convolution of bytes with channels last: products of pixels and panels of weights, and conversion
// of the sums to bytes.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

inline constexpr int64_t kPixelPanel = 64;  // columns (output channels)
inline constexpr int64_t kPixelRows = 6;    // output pixels

// The left operand for a row of output pixels: row r reads `quads` times four bytes at at[t *
// kPixelRows + r] for each tap t.
struct PixelRows {
  const uint8_t* const* at;
  int64_t taps, quads, rows;
};

// The windows of a row of output pixels in channels [first, first + columns), a multiple of
// sixteen. Tap kx of a line of `width` taps of row r is at at[(line * width + kx) * kPixelRows +
// r]. If `shift` is above 0, the windows are in the same lines: tap kx of row r is pixel x + r *
// shift + kx of at[line], a line of `in` pixels of `stride` bytes. It is `pad` beyond the ends of
// the line or if at[line] is null.
struct ChannelRows {
  const uint8_t* const* at;
  int64_t lines, width, rows, shift, first, columns;
  const uint8_t* pad;
  int64_t x, in, stride;
};

// Converts sums of columns to bytes: saturate(round((sum + offset[j]) * scale[j]) + zero), ties to
// even, between zero + least and zero + most. `low` is the least byte, -128 or 0. Scales are
// finite.
struct PixelBytes {
  const int32_t* offset;
  const float* scale;
  int32_t zero, low;
  float least, most;
};

// Adds a residual to those bytes: y = saturate(round(v / y_scale) + y_zero) for v = (byte - zero) *
// scale + (residual - residual_zero) * residual_scale, at least 0 if `relu`.
struct PixelResidual {
  float scale, residual_scale, y_scale;
  int32_t residual_zero, residual_low, y_zero, y_low;
  bool relu;
};

struct BytePixelTable {
  // sums[r * kPixelPanel + j] = row r times column j of the panel [taps * quads][64][4], for the
  // columns of the first `vectors` times 16. The panel is signed. Rows are unsigned, or signed if
  // `flip`; the sums are then those of the bytes + 128.
  void (*multiply)(bool flip, bool vnni, const PixelRows& rows, const uint8_t* panel, int vectors,
                   int32_t* sums) noexcept;
  // The same for a convolution with as many groups as channels. Weights are quads of lines, [width,
  // ceil(lines / 4), 64, 4], 0 after the last line; the weights of channel 16 i + 4 j + k are at
  // place 16 j + 4 i + k of the 64.
  void (*multiply_channels)(bool flip, bool vnni, const ChannelRows& rows, const int8_t* weights,
                            int32_t* sums) noexcept;
  // Converts up to kPixelRows rows of up to 64 columns; row r is written to y + r * stride. Reads
  // 64 elements of each row of sums, of offset and of scale.
  void (*bytes)(const int32_t* sums, const PixelBytes& how, int64_t rows, int64_t columns,
                uint8_t* y, int64_t stride) noexcept;
  // Converts one row with a residual of as many columns. `low` and `zero` of `how` belong to the
  // byte before the residual is added.
  void (*bytes_and_residual)(const int32_t* sums, const PixelBytes& how, const PixelResidual& more,
                             const uint8_t* residual, int64_t columns, uint8_t* y) noexcept;
};
POPRT_DECLARE_ISA(BytePixelTable, byte_pixels)

}  // namespace poprt::kernels::isa
