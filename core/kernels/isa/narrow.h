// Matrix products with weights that stay as stored: integers of 2, 4 or 8 bits in blocks with a
// scale and a zero point, f16, bf16 and the 8-bit float F143 of the IPU. Kernels widen them in
// registers.
//
// Weights are in panels of 16 columns. A panel is a list of groups, each for narrow_group() values
// of k:
//
//   u2, u4, u8   [16 columns][4 bytes]; field j of byte i of a column is k = 4 j + i of the group
//   f16          [4 k][16 columns]
//   bf16         [2 pairs of k][16 columns][2]
//   f8           [4 k][16 columns]; a byte is read as the upper bits of an f16, and the scale
//                corrects the bias of the exponent (for f8_143, the exponent is one bit lower)
//
// So a group of integers is one register: a shift and a mask select one k (or, for products of
// bytes, four) of all columns. K is padded to whole groups. Scales and zero points of a panel are
// [block][16 columns].
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/isa_table.h"
#include "kernels/isa/epilogue.h"

namespace poprt::kernels::isa {

inline constexpr int64_t kNarrowPanel = 16;
// If there are more rows than this, the product widens the weights into a buffer, a part at a time.
inline constexpr int64_t kNarrowRows = 4;
inline constexpr int64_t kNarrowBuffer = 256 * 48;  // floats

enum class NarrowFormat : int64_t { u2, u4, u8, f16, bf16, f8_143 };
inline constexpr auto kLastNarrowFormat = NarrowFormat::f8_143;

namespace {  // internal linkage: each instruction set has separate copies

[[maybe_unused]] constexpr bool is_integer(NarrowFormat f) { return f <= NarrowFormat::u8; }
[[maybe_unused]] constexpr int64_t narrow_bits(NarrowFormat f) {
  return is_integer(f) ? 2 << static_cast<int>(f) : f < NarrowFormat::f8_143 ? 16 : 8;
}
// The values of k in a group, and the bytes of a group of 16 columns.
[[maybe_unused]] constexpr int64_t narrow_group(NarrowFormat f) {
  return is_integer(f) ? 32 / narrow_bits(f) : 4;
}
[[maybe_unused]] constexpr int64_t narrow_group_bytes(NarrowFormat f) {
  return narrow_bits(f) == 16 ? 128 : 64;
}
[[maybe_unused]] constexpr int64_t narrow_groups(NarrowFormat f, int64_t k) {
  return (k + narrow_group(f) - 1) / narrow_group(f);
}

}  // namespace

struct NarrowShape {
  int64_t m, n, k;
  NarrowFormat format;
  int64_t block;   // values of k with one scale, a multiple of the group
  int64_t blocks;  // of a column
  int64_t zero;    // the zero point of all blocks if `zeros` is null, else 1
  bool half_scales;
  Epilogue epilogue;
  // Products of bytes store rows of bytes in blocks of `part` values, which divides `block`.
  int64_t part, parts;
  // The f32 products of a row do not depend on the number of rows (Call::reproducible).
  bool in_order = false;
};

struct NarrowOperands {
  const float* a;  // [m, k]
  const uint8_t* panels;
  const void* scales;    // null: none
  const uint8_t* zeros;  // null: `zero` for all
  const float* bias;     // room for whole panels
  const float* residual;
  float* c;
  uint8_t* rows;  // the rows of a in the form of the products (to_bytes and so on), or null
};

struct NarrowRange {
  int64_t row_begin, row_end, panel_begin, panel_end;
};

struct NarrowTable {
  // Computes with sums and products in f32. `buffer` has kNarrowBuffer floats.
  void (*widened)(const NarrowShape& s, const NarrowOperands& o, const NarrowRange& range,
                  float* buffer) noexcept;
  // Computes with products of bytes and exact sums in each part; o.rows has rows of
  // narrow_row_bytes(). Null if this instruction set has no such products. Only the `vnni` products
  // accept weights of 8 bits.
  void (*bytes)(bool vnni, const NarrowShape& s, const NarrowOperands& o,
                const NarrowRange& range) noexcept;
  // Quantises rows of a to bytes from -127 to 127. A row is a list of parts: the f32 scale, the sum
  // of the bytes times -s.zero as s32, and the bytes, with zeros for whole groups of k.
  void (*to_bytes)(const NarrowShape& s, const float* a, uint8_t* rows, int64_t row_begin,
                   int64_t row_end) noexcept;
  // Computes with the dots of pairs of bf16 and f32 sums; o.rows has rows of narrow_pair_bytes().
  // Null if this instruction set has no such products. Only for weights of bf16.
  void (*pairs)(const NarrowShape& s, const NarrowOperands& o, const NarrowRange& range) noexcept;
  // Rounds rows of a to bf16.
  void (*to_pairs)(const NarrowShape& s, const float* a, uint8_t* rows, int64_t row_begin,
                   int64_t row_end) noexcept;
  // Computes at most kNarrowRows rows of integer products with three bytes for each value of a,
  // which is as exact as f32 (isa/narrow_pieces.h); o.rows has rows of narrow_piece_bytes(). Null
  // if this instruction set has no dots of bytes.
  void (*pieces)(const NarrowShape& s, const NarrowOperands& o, const NarrowRange& range) noexcept;
  // Splits all rows of o.a into pieces in o.rows. Returns false if a value is not finite or a part
  // is too small; then the result has no meaning.
  bool (*to_pieces)(const NarrowShape& s, const NarrowOperands& o) noexcept;
  // Computes with products of f16 (isa/narrow_halves.h); o.rows has rows of narrow_half_bytes(),
  // and `buffer` kNarrowBuffer floats. A row of a tile whose sums are not finite is computed in
  // f32. `native` requires AVX512-FP16; otherwise the same bits are computed slowly, for tests.
  // Null if this instruction set has no such products. Only for weights of f16 without scales.
  void (*halves)(bool native, const NarrowShape& s, const NarrowOperands& o,
                 const NarrowRange& range, float* buffer) noexcept;
  // Multiplies each row of a by a power of two, so that it is in the range of f16, and rounds it.
  void (*to_halves)(const NarrowShape& s, const float* a, uint8_t* rows, int64_t row_begin,
                    int64_t row_end) noexcept;
};
POPRT_DECLARE_ISA(NarrowTable, narrow)

namespace {

[[maybe_unused]] constexpr int64_t narrow_row_values(const NarrowShape& s) {
  return (narrow_groups(s.format, s.k) * narrow_group(s.format) + 63) / 64 * 64;
}
[[maybe_unused]] constexpr int64_t narrow_row_bytes(const NarrowShape& s) {
  return (narrow_row_values(s) + 8 * s.parts + 63) / 64 * 64;
}
// A row in pieces: three times the bytes of the values, a scale and three sums for each part.
[[maybe_unused]] constexpr int64_t narrow_piece_bytes(const NarrowShape& s) {
  return (3 * narrow_row_values(s) + 16 * s.parts + 63) / 64 * 64;
}
// Whether rows can be in pieces: floats contain the sums of a part without rounding, and a part
// consists of whole groups.
[[maybe_unused]] constexpr bool narrow_pieces_fit(const NarrowShape& s) {
  return is_integer(s.format) && s.m <= kNarrowRows && s.part % 16 == 0 && s.part <= 128 &&
         s.part % narrow_group(s.format) == 0 && s.block % s.part == 0;
}
// Rows of bf16 are a line longer, so that rows of a tile are in different sets of the L1 cache.
[[maybe_unused]] constexpr int64_t narrow_pair_bytes(int64_t k) { return (k + 31) / 32 * 64 + 64; }
// Rows of f16 have each value twice, so that an instruction reads it for all columns without
// shuffling, and a line for their scale.
[[maybe_unused]] constexpr int64_t narrow_half_bytes(int64_t k) { return (k + 15) / 16 * 64 + 64; }

}  // namespace
}  // namespace poprt::kernels::isa
