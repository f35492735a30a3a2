#include "kernels/isa/narrow.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/join_rows.h"
#include "kernels/isa/math.h"
#include "kernels/isa/narrow_bytes.h"
#include "kernels/isa/narrow_halves.h"
#include "kernels/isa/narrow_pairs.h"
#include "kernels/isa/narrow_pieces.h"
#include "kernels/isa/narrow_weights.h"

namespace poprt::kernels::isa {
namespace {

#if defined(__AVX512F__)
constexpr int kWideVectors = 3, kWideRows = 8;
#elif defined(__AVX2__)
constexpr int kWideVectors = 1, kWideRows = 6;
#else
constexpr int kWideVectors = 1, kWideRows = 3;
#endif
constexpr int64_t kWideDepth = 256;  // values of k in the buffer

// Multiplies kRows rows by a panel and widens each weight once.
template <class W, int kRows>
__attribute__((noinline)) void rows_by_panel(const NarrowShape& s, const NarrowPanel& panel,
                                             const float* a, const TileOut& out) {
  // With few rows, several sums for each result hide the latency of the additions.
  constexpr int kSets = kRows == 1 ? 4 : kRows == 2 ? 2 : 1;
  f32x16 acc[kRows][1];
  tile_begin(acc, out);
  W w(s);
  const uint8_t* p = panel.weights;
  for (int64_t block = 0; block < s.blocks; block++) {
    const int64_t begin = block * s.block;
    const int64_t end = s.k - begin < s.block ? s.k : begin + s.block;
    w.begin_block(panel.zeros_of(block));
    f32x16 part[kRows][kSets] = {};
    int64_t k = begin;
    for (; k + W::kGroup <= end; k += W::kGroup, p += W::kBytes) {
      if constexpr (W::kAhead) __builtin_prefetch(p + 4096);
      w.each(p, [&](int i, f32x16 v) __attribute__((always_inline)) {
        POPRT_UNROLL for (int r = 0; r < kRows; r++) part[r][i % kSets] =
            fma(splat(a[r * s.k + k + i]), v, part[r][i % kSets]);
      });
    }
    if (k < end) {  // the last group of K
      float rest[kRows][W::kGroup] = {};
      for (int r = 0; r < kRows; r++)
        for (int64_t i = 0; i < end - k; i++) rest[r][i] = a[r * s.k + k + i];
      w.each(p, [&](int i, f32x16 v) __attribute__((always_inline)) {
        POPRT_UNROLL for (int r = 0; r < kRows; r++) part[r][i % kSets] =
            fma(splat(rest[r][i]), v, part[r][i % kSets]);
      });
      p += W::kBytes;
    }
    POPRT_UNROLL for (int step = kSets / 2; step; step /= 2)
        POPRT_UNROLL for (int r = 0; r < kRows; r++) POPRT_UNROLL for (int i = 0; i < step; i++)
            part[r][i] += part[r][i + step];
    if (panel.scales) {
      const f32x16 scale = panel.scale_of(block);
      POPRT_UNROLL for (int r = 0; r < kRows; r++) acc[r][0] = fma(part[r][0], scale, acc[r][0]);
    } else {
      POPRT_UNROLL for (int r = 0; r < kRows; r++) acc[r][0] += part[r][0];
    }
  }
  tile_store(acc, out);
}

template <class W>
void few_rows(const NarrowShape& s, const NarrowOperands& o, const NarrowRange& range) {
  const int64_t rows = range.row_end - range.row_begin;
  const float* a = o.a + range.row_begin * s.k;
  for (int64_t p = range.panel_begin; p < range.panel_end; p++) {
    const NarrowPanel panel(s, o, p);
    const TileOut out = narrow_out(s, o, range.row_begin, p * kNarrowPanel, 1);
    switch (rows) {
      case 1: rows_by_panel<W, 1>(s, panel, a, out); break;
      case 2: rows_by_panel<W, 2>(s, panel, a, out); break;
      case 3: rows_by_panel<W, 3>(s, panel, a, out); break;
      case 4: rows_by_panel<W, 4>(s, panel, a, out); break;
      default: break;
    }
  }
}
static_assert(kNarrowRows == 4);

// Writes weights k0 <= k < k1 of a panel, times their scales, to to[(k - k0) * stride]. Whole
// groups are written, so up to a group more.
template <class W>
__attribute__((noinline)) void widen(const NarrowShape& s, const NarrowPanel& panel, int64_t k0,
                                     int64_t k1, float* to, int64_t stride) {
  W w(s);
  const uint8_t* p = panel.weights + k0 / W::kGroup * W::kBytes;
  for (int64_t k = k0; k < k1;) {
    const int64_t block = k / s.block;
    const int64_t end = k1 - block * s.block < s.block ? k1 : (block + 1) * s.block;
    w.begin_block(panel.zeros_of(block));
    if (panel.scales) {
      const f32x16 scale = panel.scale_of(block);
      for (; k < end; k += W::kGroup, p += W::kBytes, to += W::kGroup * stride)
        w.each(p, [&](int i, f32x16 v)
                      __attribute__((always_inline)) { store(to + i * stride, v * scale); });
    } else {
      for (; k < end; k += W::kGroup, p += W::kBytes, to += W::kGroup * stride)
        w.each(p,
               [&](int i, f32x16 v) __attribute__((always_inline)) { store(to + i * stride, v); });
    }
  }
}

template <int P, int Q>
void wide_tile(const float* a, int64_t lda, const float* b, int64_t k, const TileOut& o) {
  f32x16 acc[P][Q];
  tile_begin(acc, o);
  for (int64_t i = 0; i < k; i++, b += 16 * Q) tile_step(acc, a + i, lda, b, 16);
  tile_store(acc, o);
}

using WideTile = void (*)(const float*, int64_t, const float*, int64_t, const TileOut&);
struct WideTiles {
  WideTile at[kWideRows + 1][kWideVectors + 1] = {};
};
template <int P, int Q>
constexpr void fill_wide_tiles(WideTiles& t) {
  t.at[P][Q] = wide_tile<P, Q>;
  if constexpr (Q > 1)
    fill_wide_tiles<P, Q - 1>(t);
  else if constexpr (P > 1)
    fill_wide_tiles<P - 1, kWideVectors>(t);
}
constexpr WideTiles make_wide_tiles() {
  WideTiles t;
  fill_wide_tiles<kWideRows, kWideVectors>(t);
  return t;
}
constexpr WideTiles kWideTiles = make_wide_tiles();
static_assert(kWideDepth * kWideVectors * kNarrowPanel <= kNarrowBuffer);

template <class W>
void many_rows(const NarrowShape& s, const NarrowOperands& o, const NarrowRange& range,
               float* buffer) {
  for (int64_t p = range.panel_begin; p < range.panel_end; p += kWideVectors) {
    const int64_t vectors =
        range.panel_end - p < kWideVectors ? range.panel_end - p : int64_t{kWideVectors};
    for (int64_t k0 = 0; k0 < s.k; k0 += kWideDepth) {
      const int64_t k1 = s.k - k0 < kWideDepth ? s.k : k0 + kWideDepth;
      for (int64_t v = 0; v < vectors; v++)
        widen<W>(s, NarrowPanel(s, o, p + v), k0, k1, buffer + 16 * v, 16 * vectors);
      for (int64_t row = range.row_begin; row < range.row_end;) {
        const int64_t left = range.row_end - row, pieces = (left + kWideRows - 1) / kWideRows;
        const int64_t rows = (left + pieces - 1) / pieces;
        TileOut out = narrow_out(s, o, row, p * kNarrowPanel, vectors);
        out.first = k0 == 0;
        out.last = k1 == s.k;
        kWideTiles.at[rows][vectors](o.a + row * s.k + k0, s.k, buffer, k1 - k0, out);
        row += rows;
      }
    }
  }
}

void widened(const NarrowShape& s, const NarrowOperands& o, const NarrowRange& range,
             float* buffer) noexcept {
  with_narrow_weights(s, o.zeros != nullptr, [&]<class W>() {
    if (!s.in_order && range.row_end - range.row_begin <= kNarrowRows)
      few_rows<W>(s, o, range);
    else
      many_rows<W>(s, o, range, buffer);
  });
}

#if defined(__AVX512F__)
void halves(bool native, const NarrowShape& s, const NarrowOperands& o, const NarrowRange& range,
            float* buffer) noexcept {
  narrow_halves(native, s, o, range, buffer,
                [&](const NarrowRange& row) { few_rows<HalfWeights>(s, o, row); });
}
#define POPRT_NARROW_HALVES halves, to_halves
#else
#define POPRT_NARROW_HALVES nullptr, nullptr
#endif

POPRT_INLINE f32x16 floats_at(const float* p, int64_t left) {
  return left < 16 ? load_first(p, left) : load(p);
}

// Sixteen parts are scaled together, because folding the lanes of one part takes longer than
// converting it.
void to_bytes(const NarrowShape& s, const float* a, uint8_t* rows, int64_t row_begin,
              int64_t row_end) noexcept {
  const int64_t bytes = narrow_row_bytes(s);
  typedef int8_t i8x16 __attribute__((vector_size(16)));
  typedef i8x16 i8x16u __attribute__((aligned(1), may_alias));
  for (int64_t row = row_begin; row < row_end; row++) {
    const float* x = a + row * s.k;
    uint8_t* to = rows + row * bytes;
    for (int64_t part = 0; part < s.parts; part += kJoinedRows) {
      const int64_t parts = s.parts - part < kJoinedRows ? s.parts - part : kJoinedRows;
      const auto begin_of = [&](int64_t i) { return (part + i) * s.part; };
      const auto end_of = [&](int64_t i) { return begin_of(i + 1) < s.k ? begin_of(i + 1) : s.k; };
      // The bits of magnitudes have the order of the magnitudes; those of NaN are the largest.
      i32x16 most[kJoinedRows] = {}, total[kJoinedRows] = {};
      for (int64_t i = 0; i < parts; i++) {
        i32x16 top{};
        for (int64_t k = begin_of(i), end = end_of(i); k < end; k += 16) {
          const i32x16 bits = reinterpret_cast<i32x16>(floats_at(x + k, end - k)) & 0x7fffffff;
          top = bits > top ? bits : top;
        }
        most[i] = top;
      }
      const i32x16 top_bits =
          join_rows(most, [](i32x16 v, i32x16 w) -> i32x16 { return v > w ? v : w; });
      const f32x16 top = from_bits(top_bits);
      const i32x16 finite = top_bits < 0x7f800000, some = finite & (top > 0x1p-100f);
      const f32x16 scale = finite ? (some ? top / 127.0f : zero()) : splat(__builtin_nanf(""));
      const f32x16 by = some ? 127.0f / top : zero();
      for (int64_t i = 0; i < parts; i++) {
        auto* q = reinterpret_cast<int8_t*>(to + i * (8 + s.part) + 8) - begin_of(i);
        const f32x16 times = splat(by[i]);
        const bool zeros = !some[i];
        i32x16 sum{};
        for (int64_t k = begin_of(i), end = end_of(i); k < end; k += 16) {
          const f32x16 v = zeros ? zero() : floats_at(x + k, end - k) * times;
          const i32x16 whole = to_i32(clamp(vround(v), -127, 127));
          sum += whole;
          *reinterpret_cast<i8x16u*>(q + k) = __builtin_convertvector(whole, i8x16);
        }
        total[i] = sum;
      }
      const i32x16 minus = join_rows(total, [](i32x16 v, i32x16 w) -> i32x16 { return v + w; }) *
                           -static_cast<int32_t>(s.zero);
      for (int64_t i = 0; i < parts; i++, to += 8 + s.part) {
        const float part_scale = scale[i];
        const int32_t part_minus = minus[i];
        __builtin_memcpy(to, &part_scale, 4);
        __builtin_memcpy(to + 4, &part_minus, 4);
      }
    }
  }
}

}  // namespace

extern const NarrowTable POPRT_ISA_NAME(narrow);
const NarrowTable POPRT_ISA_NAME(narrow) = {
    widened,  POPRT_NARROW_BYTES,  to_bytes,           POPRT_NARROW_PAIRS,
    to_pairs, POPRT_NARROW_PIECES, POPRT_NARROW_HALVES};

}  // namespace poprt::kernels::isa
