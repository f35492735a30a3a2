// Products of a few rows of f32 and narrow integer weights (isa/narrow.h) with dots of bytes. A row
// is split into three signed bytes for each value, relative to a power of two for each part of K:
//
//   x = 2^e (q0 + q1 / 254 + q2 / 254^2)
//
// The largest magnitude of a part is more than 63 times 2^e, and the rest is at most 2^e / 2 /
// 254^2, so the error of x is at most 2^-22 times this magnitude. The sums of a part are exact
// integers below 2^24. Widening a register of weights of 4 bits takes 24 instructions for each row;
// three dots for each half of its bytes take 6.
#pragma once

#include "kernels/isa/math.h"
#include "kernels/isa/narrow_bytes.h"

namespace poprt::kernels::isa {
namespace {

#if defined(__AVX512BW__)

constexpr float kPieceBase = 254;
// Parts with a smaller magnitude are not split, because the scale of the weights could make their
// results denormal.
constexpr float kLeastPiece = 0x1p-60f;

// Writes the three pieces of a part of `count` values to q, `stride` bytes apart, -times * their
// sums to `sums`, and their common scale. Returns false if the part cannot be split.
POPRT_INLINE bool split_part(const float* x, int64_t count, int32_t times, int8_t* q,
                             int64_t stride, int32_t* sums, float* scale) {
  typedef int8_t i8x16 __attribute__((vector_size(16)));
  typedef i8x16 i8x16u __attribute__((aligned(1), may_alias));
  i32x16 most{};
  for (int64_t k = 0; k < count; k += 16) {
    const i32x16 v =
        reinterpret_cast<i32x16>(load_first(x + k, count - k < 16 ? count - k : 16)) & 0x7fffffff;
    most = v > most ? v : most;
  }
  int32_t top_bits = 0;
  for (int i = 0; i < 16; i++) top_bits = most[i] > top_bits ? most[i] : top_bits;
  float top = 0;
  __builtin_memcpy(&top, &top_bits, 4);
  if (top_bits >= 0x7f800000 || (top != 0 && top < kLeastPiece)) return false;
  // The smallest power of two for which the magnitudes are below 127.5 times the scale.
  const int32_t exponent = (top_bits >> 23) - ((top_bits & 0x7fffff) < 0x7f0000 ? 6 : 5);
  const int32_t bits = top != 0 ? exponent << 23 : 0,
                inverse_bits = top != 0 ? (254 - exponent) << 23 : 0;
  float inverse = 0;
  __builtin_memcpy(scale, &bits, 4);
  __builtin_memcpy(&inverse, &inverse_bits, 4);
  i32x16 total[3] = {};
  for (int64_t k = 0; k < count; k += 16) {
    f32x16 rest = load_first(x + k, count - k < 16 ? count - k : 16) * splat(inverse);
    POPRT_UNROLL for (int i = 0; i < 3; i++) {
      const f32x16 whole = vround(rest);
      const i32x16 piece = to_i32(whole);
      total[i] += piece;
      *reinterpret_cast<i8x16u*>(q + i * stride + k) = __builtin_convertvector(piece, i8x16);
      rest = (rest - whole) * splat(kPieceBase);
    }
  }
  for (int i = 0; i < 3; i++) {
    int32_t sum = 0;
    for (int j = 0; j < 16; j++) sum += total[i][j];
    sums[i] = -sum * times;
  }
  return true;
}

bool to_pieces(const NarrowShape& s, const NarrowOperands& o) noexcept {
  const int64_t values = narrow_row_values(s), bytes = narrow_piece_bytes(s);
  const auto times = o.zeros ? 1 : static_cast<int32_t>(s.zero);
  for (int64_t row = 0; row < s.m; row++) {
    auto* q = reinterpret_cast<int8_t*>(o.rows + row * bytes);
    auto* scales = reinterpret_cast<float*>(q + 3 * values);
    auto* sums = reinterpret_cast<int32_t*>(scales + s.parts);
    for (int64_t part = 0; part < s.parts; part++) {
      const int64_t k = part * s.part, left = s.k - k;
      if (!split_part(o.a + row * s.k + k, left < s.part ? left : s.part, times, q + k, values,
                      sums + 3 * part, scales + part))
        return false;
    }
    for (int64_t k = (s.k + 15) / 16 * 16; k < values; k++)
      for (int i = 0; i < 3; i++) q[i * values + k] = 0;
  }
  return true;
}

// Begins the sums with minus the zero points times the sum of each piece. `sums` already contains
// the sign and, without `zeros`, the factor of the single zero point.
POPRT_INLINE void begin_pieces(u32x16 (&sum)[3], const uint8_t* zeros, const int32_t* sums) {
  POPRT_UNROLL for (int i = 0; i < 3; i++) sum[i] = u32x16{} + static_cast<uint32_t>(sums[i]);
  if (!zeros) return;
  const u32x16 z = __builtin_convertvector(*reinterpret_cast<const u8x16u*>(zeros), u32x16);
  POPRT_UNROLL for (int i = 0; i < 3; i++) sum[i] *= z;
}

template <int kBits, int kRows>
POPRT_VNNI void piece_tile(const NarrowShape& s, const NarrowPanel& panel, const uint8_t* rows,
                           const TileOut& out) {
  constexpr int kGroup = 32 / kBits;
  const int64_t stride = narrow_piece_bytes(s), values = narrow_row_values(s);
  const int64_t groups = narrow_groups(s.format, s.k), of_part = s.part / kGroup;
  const int64_t parts_of_block = s.block / s.part;
  const uint8_t* p = panel.weights;
  f32x16 acc[kRows][1];
  tile_begin(acc, out);
  int64_t block = 0, left = parts_of_block;
  for (int64_t part = 0, group = 0; part < s.parts; part++) {
    u32x16 sum[kRows][3];
    const auto scales_of = [&](int r) {
      return reinterpret_cast<const float*>(rows + r * stride + 3 * values);
    };
    POPRT_UNROLL for (int r = 0; r < kRows; r++)
        begin_pieces(sum[r], panel.zeros_of(block),
                     reinterpret_cast<const int32_t*>(scales_of(r) + s.parts) + 3 * part);
    const int64_t end = groups - group < of_part ? groups : group + of_part;
    for (; group < end; group++, p += 64) {
      __builtin_prefetch(p + 4096);
      const u32x16 v = *reinterpret_cast<const u32x16n*>(p);
      const uint8_t* x = rows + group * kGroup;
      POPRT_UNROLL for (int j = 0; j < 8 / kBits; j++) {
        const u32x16 w = kBits == 8 ? v
                                    : (v >> static_cast<uint32_t>(kBits * j)) &
                                          (0x01010101u * ((1u << kBits) - 1u));
        POPRT_UNROLL for (int r = 0; r < kRows; r++) POPRT_UNROLL for (int i = 0; i < 3; i++)
            sum[r][i] =
                add_dots(sum[r][i], w,
                         *reinterpret_cast<const loose_i32*>(x + r * stride + i * values + 4 * j));
      }
    }
    const f32x16 scale = panel.scale_of(block);
    POPRT_UNROLL for (int r = 0; r < kRows; r++) {
      f32x16 f[3];
      POPRT_UNROLL for (int i = 0; i < 3; i++) f[i] = to_f32(reinterpret_cast<i32x16>(sum[r][i]));
      const f32x16 by = splat(1 / kPieceBase);
      acc[r][0] = fma(fma(fma(f[2], by, f[1]), by, f[0]), scale * scales_of(r)[part], acc[r][0]);
    }
    if (--left == 0) {
      block++;
      left = parts_of_block;
    }
  }
  tile_store(acc, out);
}

template <int kBits>
void pieces_of_bits(const NarrowShape& s, const NarrowOperands& o, const NarrowRange& range) {
  for (int64_t p = range.panel_begin; p < range.panel_end; p++) {
    const NarrowPanel panel(s, o, p);
    const TileOut out = narrow_out(s, o, 0, p * kNarrowPanel, 1);
    switch (s.m) {
      case 1: piece_tile<kBits, 1>(s, panel, o.rows, out); break;
      case 2: piece_tile<kBits, 2>(s, panel, o.rows, out); break;
      case 3: piece_tile<kBits, 3>(s, panel, o.rows, out); break;
      case 4: piece_tile<kBits, 4>(s, panel, o.rows, out); break;
      default: break;
    }
  }
}

void narrow_pieces(const NarrowShape& s, const NarrowOperands& o,
                   const NarrowRange& range) noexcept {
  switch (s.format) {
    case NarrowFormat::u2: return pieces_of_bits<2>(s, o, range);
    case NarrowFormat::u4: return pieces_of_bits<4>(s, o, range);
    case NarrowFormat::u8: return pieces_of_bits<8>(s, o, range);
    default: return;
  }
}
#define POPRT_NARROW_PIECES narrow_pieces, to_pieces
#else
#define POPRT_NARROW_PIECES nullptr, nullptr
#endif  // __AVX512BW__

}  // namespace
}  // namespace poprt::kernels::isa
