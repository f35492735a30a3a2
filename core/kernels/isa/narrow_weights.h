// Widens a group of weights (isa/narrow.h) in registers: each(p, f) calls f(k of the group, weights
// of 16 columns) for the group at p.
#pragma once

#include "kernels/isa/convert.h"
#include "kernels/isa/narrow.h"
#include "kernels/isa/tile.h"

namespace poprt::kernels::isa {
namespace {

typedef u32x16 u32x16n __attribute__((aligned(4), may_alias));

POPRT_INLINE f32x16 from_f16_bits(u16x16 v) {
#if defined(__AVX512F__)
  return reinterpret_cast<f32x16>(_mm512_cvtph_ps(reinterpret_cast<__m256i>(v)));
#else
  uint16_t bits[16];
  store_u16(bits, v);
  return load_f16(bits);
#endif
}

// Integers with any zero points. 2^23 + q is a float whose low bits are q.
template <int kBits>
struct ShiftedIntegers {
  static constexpr int kGroup = 32 / kBits;
  static constexpr int64_t kBytes = 64;
  static constexpr bool kAhead = true;

  explicit ShiftedIntegers(const NarrowShape& s)
      : less(splat(0x1p23f + static_cast<float>(s.zero))) {}
  POPRT_INLINE void begin_block(const uint8_t* zeros) {
    if (!zeros) return;
    for (int j = 0; j < 16; j++) less[j] = 0x1p23f + static_cast<float>(zeros[j]);
  }
  template <class F>
  POPRT_INLINE void each(const uint8_t* p, F f) const {
    const u32x16 v = *reinterpret_cast<const u32x16n*>(p);
    POPRT_UNROLL for (int k = 0; k < kGroup; k++) {
      const u32x16 q =
          ((v >> static_cast<uint32_t>(8 * (k % 4) + kBits * (k / 4))) & ((1u << kBits) - 1u)) |
          0x4b000000u;
      f(k, reinterpret_cast<f32x16>(q) - less);
    }
  }
  f32x16 less;
};

// Integers of 2 or 4 bits with one zero point: a register contains the differences of all integers
// and the zero point.
#if defined(__AVX512F__)
template <int kBits>
struct TableIntegers {
  static constexpr int kGroup = 32 / kBits;
  static constexpr int64_t kBytes = 64;
  static constexpr bool kAhead = true;

  explicit TableIntegers(const NarrowShape& s) {
    for (int i = 0; i < 16; i++)
      table[i] = static_cast<float>((i & ((1 << kBits) - 1)) - static_cast<int>(s.zero));
  }
  POPRT_INLINE void begin_block(const uint8_t*) {}
  template <class F>
  POPRT_INLINE void each(const uint8_t* p, F f) const {
    const u32x16 v = *reinterpret_cast<const u32x16n*>(p);
    POPRT_UNROLL for (int k = 0; k < kGroup; k++) {
      const u32x16 q = v >> static_cast<uint32_t>(8 * (k % 4) + kBits * (k / 4));
      f(k, reinterpret_cast<f32x16>(_mm512_permutexvar_ps(reinterpret_cast<__m512i>(q),
                                                          reinterpret_cast<__m512>(table))));
    }
  }
  f32x16 table;
};
#endif

struct HalfWeights {
  static constexpr int kGroup = 4;
  static constexpr int64_t kBytes = 128;
  static constexpr bool kAhead = false;

  explicit HalfWeights(const NarrowShape&) {}
  POPRT_INLINE void begin_block(const uint8_t*) {}
  template <class F>
  POPRT_INLINE void each(const uint8_t* p, F f) const {
    POPRT_UNROLL for (int k = 0; k < kGroup; k++)
        f(k, load_f16(reinterpret_cast<const uint16_t*>(p + 32 * k)));
  }
};

struct BrainWeights {
  static constexpr int kGroup = 4;
  static constexpr int64_t kBytes = 128;
  static constexpr bool kAhead = false;

  explicit BrainWeights(const NarrowShape&) {}
  POPRT_INLINE void begin_block(const uint8_t*) {}
  template <class F>
  POPRT_INLINE void each(const uint8_t* p, F f) const {
    POPRT_UNROLL for (int pair = 0; pair < 2; pair++) {
      const u32x16 v = *reinterpret_cast<const u32x16n*>(p + 64 * pair);
      f(2 * pair, reinterpret_cast<f32x16>(v << 16));
      f(2 * pair + 1, reinterpret_cast<f32x16>(v & 0xffff0000u));
    }
  }
};

// 8-bit floats. The mantissa has seven bits fewer than that of f16, and the exponent one bit fewer.
// The code of -0 is NaN.
struct QuarterWeights {
  static constexpr int kGroup = 4;
  static constexpr int64_t kBytes = 64;
  static constexpr bool kAhead = true;

  explicit QuarterWeights(const NarrowShape&) {}
  POPRT_INLINE void begin_block(const uint8_t*) {}
  template <class F>
  POPRT_INLINE void each(const uint8_t* p, F f) const {
    using u8x16 = uint8_t __attribute__((vector_size(16)));
    typedef u8x16 u8x16u __attribute__((aligned(1), may_alias));
    POPRT_UNROLL for (int k = 0; k < kGroup; k++) {
      const u16x16 v =
          __builtin_convertvector(*reinterpret_cast<const u8x16u*>(p + 16 * k), u16x16);
      const auto nan = reinterpret_cast<u16x16>(v == 0x80) & 0x7e00;
      f(k, from_f16_bits(((v & 0x80) << 8) | ((v & 0x7f) << 7) | nan));
    }
  }
};

// Calls f.template operator()<W>() with the type that widens these weights.
template <class F>
POPRT_INLINE void with_narrow_weights(const NarrowShape& s, bool zeros, F f) {
#if defined(__AVX512F__)
  if (!zeros && s.format == NarrowFormat::u2) return f.template operator()<TableIntegers<2>>();
  if (!zeros && s.format == NarrowFormat::u4) return f.template operator()<TableIntegers<4>>();
#endif
  (void)zeros;
  switch (s.format) {
    case NarrowFormat::u2: return f.template operator()<ShiftedIntegers<2>>();
    case NarrowFormat::u4: return f.template operator()<ShiftedIntegers<4>>();
    case NarrowFormat::u8: return f.template operator()<ShiftedIntegers<8>>();
    case NarrowFormat::f16: return f.template operator()<HalfWeights>();
    case NarrowFormat::bf16: return f.template operator()<BrainWeights>();
    case NarrowFormat::f8_143: return f.template operator()<QuarterWeights>();
  }
}

// The parameters of one panel.
struct NarrowPanel {
  const uint8_t* weights;
  const void* scales;
  const uint8_t* zeros;
  bool half;

  NarrowPanel(const NarrowShape& s, const NarrowOperands& o, int64_t panel)
      : weights(o.panels + panel * narrow_groups(s.format, s.k) * narrow_group_bytes(s.format)),
        scales(o.scales ? static_cast<const char*>(o.scales) +
                              panel * s.blocks * kNarrowPanel * (s.half_scales ? 2 : 4)
                        : nullptr),
        zeros(o.zeros ? o.zeros + panel * s.blocks * kNarrowPanel : nullptr),
        half(s.half_scales) {}

  const uint8_t* zeros_of(int64_t block) const {
    return zeros ? zeros + block * kNarrowPanel : nullptr;
  }
  POPRT_INLINE f32x16 scale_of(int64_t block) const {
    return half ? load_f16(static_cast<const uint16_t*>(scales) + block * kNarrowPanel)
                : load(static_cast<const float*>(scales) + block * kNarrowPanel);
  }
};

// The destination of the product from `row` and `column` on, with `vectors` vectors of columns.
POPRT_INLINE TileOut narrow_out(const NarrowShape& s, const NarrowOperands& o, int64_t row,
                                int64_t column, int64_t vectors) {
  TileOut t{};
  t.c = o.c + row * s.n + column;
  t.c_row = t.residual_row = s.n;
  t.c_vector = 16;
  const int64_t lanes = s.n - column - 16 * (vectors - 1);
  t.lanes = lanes < 16 ? lanes : 16;
  t.residual = o.residual ? o.residual + row * s.n + column : nullptr;
  t.bias = o.bias ? o.bias + column : nullptr;
  t.epilogue = &s.epilogue;
  t.first = t.last = true;
  return t;
}

}  // namespace
}  // namespace poprt::kernels::isa
