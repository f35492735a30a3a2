// Products of 8-bit integers, four at a time, with sums of 32 bits that wrap, like those of ONNX,
// and never saturate. One operand is signed and the other unsigned, as VNNI requires. The top bits
// of an operand with the other sign are flipped, by the caller or by panel_flip_rows, and the
// caller shifts its zero point by 128.
#pragma once

#include <cstdint>

#include "kernels/common/isa_table.h"

namespace poprt::kernels::isa {

inline constexpr int64_t kVnniPanel = 64;  // columns
inline constexpr int64_t kVnniRows = 6;
inline constexpr int64_t kVnniBytes = 4 * kVnniPanel;

// Which operand is signed, and whether the top bits of the rows must be flipped.
enum class VnniSigns { panel, panel_flip_rows, rows };

// A panel is `count` steps of [64 columns][4 bytes]. Step i is at offset offsets[i] bytes, or i *
// kVnniBytes without offsets.
struct VnniPanel {
  const uint8_t* data;
  const int32_t* offsets;
  int64_t count;
};

struct VnniTable {
  // sums[r * kVnniPanel + j] (+)= sum over steps i and t < 4 of rows[r * stride + 4 i + t] times
  // byte t of column j, for r < n <= kVnniRows. Adds to the existing sums if `add`.
  void (*multiply)(VnniSigns signs, bool vnni, const uint8_t* rows, int64_t stride, int64_t n,
                   const VnniPanel& panel, bool add, int32_t* sums) noexcept;
  // sums[j] = sum of the bytes of column j.
  void (*column_sums)(bool is_signed, bool vnni, const VnniPanel& panel, int32_t* sums) noexcept;
  // The sum of n bytes as unsigned numbers, after an exclusive or with `flip`.
  int32_t (*row_sum)(const uint8_t* row, int64_t n, uint8_t flip) noexcept;
  // Interleaves n quads: to[4 j + t] = from[t * stride + j] ^ flip for t < rows, and 0 for the
  // others.
  void (*interleave)(const uint8_t* from, int64_t stride, int64_t rows, int64_t n, uint8_t flip,
                     uint8_t* to) noexcept;
  // Copies n quads from `from` on, at intervals of `stride` quads.
  void (*take)(uint8_t* to, const uint8_t* from, int64_t stride, int64_t n) noexcept;
  // out[j] = sums[j] - row_zero * column_sums[j] - zero[j] * row_rest for n columns.
  void (*correct)(int32_t* out, const int32_t* sums, int64_t n, int32_t row_zero,
                  const int32_t* column_sums, const int32_t* zero, int32_t row_rest) noexcept;
  // The same with a zero of 1, for a panel, converted to bytes: saturate(round(out[j] * scale) +
  // zero_point) between `low` and low + 255, ties to even.
  void (*correct_bytes)(void* out, const int32_t* sums, int32_t row_zero,
                        const int32_t* column_sums, int32_t row_rest, float scale, float zero_point,
                        float low) noexcept;
  // y[j] = (sums[j] - row_zero * column_sums[j]) * (scale * scales[j]) + bias[j] for n columns of a
  // panel, in float. With `one_scale`, scales is a single number; bias may be null.
  void (*real)(float* y, const int32_t* sums, int64_t n, int32_t row_zero,
               const int32_t* column_sums, float scale, const float* scales, bool one_scale,
               const float* bias) noexcept;
  // y[j] = bias + sum over t < taps of weights[t] * x[j * stride + offsets[t]], for integers whose
  // sums are exact in float. Reads up to 16 * stride floats after the last one.
  void (*filter_row)(const float* x, const int32_t* offsets, const float* weights, int64_t taps,
                     int64_t stride, int64_t n, int32_t bias, int32_t* y) noexcept;
};
POPRT_DECLARE_ISA(VnniTable, vnni)

}  // namespace poprt::kernels::isa
