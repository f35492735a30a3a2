#include "kernels/isa/gemm.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/tile.h"
#include "kernels/isa/transpose.h"

namespace poprt::kernels::isa {
namespace {

// sum_sets(vectors) is the number of sets of sums of a tile with `vectors` sums of 16 lanes. With
// few sums, further sets hide the latency of the additions. All sets must remain in the registers:
// 32 of 16 lanes, 16 of 8 lanes (a sum is two registers) or 16 of 4 lanes (a sum is four).
#if defined(__AVX512F__)
constexpr int kVectors = 3, kRows = 8;
constexpr int64_t kBlock = 512;
constexpr int sum_sets(int vectors) { return vectors <= 6 ? 4 : 1; }
#elif defined(__AVX2__)
constexpr int kVectors = 1, kRows = 6;
constexpr int64_t kBlock = 128;
constexpr int sum_sets(int vectors) { return vectors == 1 ? 4 : vectors <= 3 ? 2 : 1; }
#else
constexpr int kVectors = 1, kRows = 3;
constexpr int64_t kBlock = 256;
constexpr int sum_sets(int vectors) { return vectors == 1 ? 2 : 1; }
#endif

// Data that is prefetched into the caches while a tile runs. Two words, which are passed in
// registers: with a third field of one byte the copy on the stack was written in parts and read
// whole, and the processor waited 1.5 % of the time of a matrix product for that.
struct Prefetch {
  const char* next;
  int64_t step;  // bytes for each k
};

template <int P, int Q>
void tile(const float* a, int64_t lda, const float* b, int64_t k, Prefetch prefetch, bool in_order,
          const TileOut& o) {
  f32x16 acc[P][Q];
  tile_begin(acc, o);
  int64_t i = 0;
  // If the products are added in order, all are in the first set. Empty sets are not added to it,
  // because -0.0 + 0.0 is 0.0, and whether there are other sets depends on the place of the row.
  if constexpr (constexpr int kSets = sum_sets(P * Q); kSets > 1) {
    if (!in_order) {
      f32x16 more[kSets - 1][P][Q] = {};
      for (; i + kSets <= k; i += kSets, b += kSets * kPanel) {
        POPRT_UNROLL for (int line = 0; line < 3 * kSets; line++)
            __builtin_prefetch(reinterpret_cast<const char*>(b) + 4096 + 64 * line);
        tile_step(acc, a + i, lda, b, 16);
        POPRT_UNROLL for (int set = 1; set < kSets; set++)
            tile_step(more[set - 1], a + i + set, lda, b + set * kPanel, 16);
      }
      POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) {
        if constexpr (kSets == 4)
          acc[r][q] = (acc[r][q] + more[0][r][q]) + (more[1][r][q] + more[2][r][q]);
        else
          acc[r][q] += more[0][r][q];
      }
    }
  }
  for (; i < k; i++, b += kPanel) {
    __builtin_prefetch(prefetch.next, 0, 2);
    prefetch.next += prefetch.step;
    tile_step(acc, a + i, lda, b, 16);
  }
  tile_store(acc, o);
}

using TileFn = void (*)(const float*, int64_t, const float*, int64_t, Prefetch, bool,
                        const TileOut&);
struct Tiles {
  TileFn at[kRows + 1][kVectors + 1] = {};
};

template <int P, int Q>
constexpr void fill_tiles(Tiles& t) {
  t.at[P][Q] = tile<P, Q>;
  if constexpr (Q > 1)
    fill_tiles<P, Q - 1>(t);
  else if constexpr (P > 1)
    fill_tiles<P - 1, kVectors>(t);
}
constexpr Tiles make_tiles() {
  Tiles t;
  fill_tiles<kRows, kVectors>(t);
  return t;
}
constexpr Tiles kTiles = make_tiles();

// Rows are split evenly, so that 9 rows become 5 + 4 instead of 8 + 1.
POPRT_INLINE int64_t even_piece(int64_t left, int64_t most) {
  const int64_t pieces = (left + most - 1) / most;
  return (left + pieces - 1) / pieces;
}

void run(const GemmShape& s, const float* a, const float* packed_b, const float* bias,
         const float* residual, float* c, int64_t row_begin, int64_t row_end, int64_t panel_begin,
         int64_t panel_end) noexcept {
  for (int64_t k0 = 0; k0 < s.k || k0 == 0; k0 += s.k_block) {
    const int64_t kc = s.k - k0 < s.k_block ? s.k - k0 : s.k_block;
    for (int64_t panel = panel_begin; panel < panel_end; panel++) {
      const int64_t column = panel * kPanel;
      const int64_t columns = s.n - column < kPanel ? s.n - column : kPanel;
      const float* b = packed_b + panel * kPanel * s.k + k0 * kPanel;
      const float* next = panel + 1 < panel_end ? b + kPanel * s.k
                          : k0 + kc < s.k       ? b + (kc - (panel - panel_begin) * s.k) * kPanel
                                                : b;
      const int64_t tiles = (row_end - row_begin + kRows - 1) / kRows *
                            ((columns + 16 * kVectors - 1) / (16 * kVectors));
      const int64_t step = (kPanel * 4 + tiles - 1) / tiles;
      const char* ahead = reinterpret_cast<const char*>(next);
      for (int64_t v = 0; v < columns; v += 16 * kVectors) {
        const int64_t width = columns - v < 16 * kVectors ? columns - v : 16 * kVectors;
        const int64_t vectors = (width + 15) / 16;
        TileOut o{};
        o.c_row = s.ldc;
        o.c_vector = 16;
        o.lanes = width - (vectors - 1) * 16;
        o.residual_row = s.ld_residual;
        o.epilogue = &s.epilogue;
        o.first = k0 == 0;
        o.last = k0 + kc >= s.k;
        o.bias = bias ? bias + column + v : nullptr;
        for (int64_t row = row_begin; row < row_end;) {
          const int64_t rows = even_piece(row_end - row, kRows);
          o.c = c + row * s.ldc + column + v;
          o.residual = residual ? residual + row * s.ld_residual + column + v : nullptr;
          kTiles.at[rows][vectors](a + row * s.lda + k0, s.lda, b + v, kc, {ahead, step},
                                   s.in_order, o);
          ahead += step * kc;
          row += rows;
        }
      }
    }
    if (s.k == 0) break;
  }
}

void pack(const float* b, int64_t k_stride, int64_t n_stride, int64_t n, int64_t column,
          int64_t k_begin, int64_t k_end, float* panel) noexcept {
  const int64_t columns = n - column < kPanel ? n - column : kPanel;
  const float* from = b + k_begin * k_stride + column * n_stride;
  if (n_stride == 1) {
    for (int64_t k = k_begin; k < k_end; k++, from += k_stride, panel += kPanel)
      for (int64_t v = 0; v < 3; v++) {
        const int64_t lanes = columns - 16 * v;
        store(panel + 16 * v, lanes >= 16 ? load(from + 16 * v)
                              : lanes > 0 ? load_first(from + 16 * v, lanes)
                                          : zero());
      }
    return;
  }
  const int64_t depth = k_end - k_begin;
  if (k_stride == 1)
    POPRT_ISA_NAME(transpose).block[2](from, n_stride, panel, kPanel, columns, depth);
  for (int64_t j = k_stride == 1 ? columns : 0; j < kPanel; j++)
    for (int64_t k = 0; k < depth; k++)
      panel[k * kPanel + j] = j < columns ? from[k * k_stride + j * n_stride] : 0.0f;
}

}  // namespace

extern const GemmTable POPRT_ISA_NAME(gemm);
const GemmTable POPRT_ISA_NAME(gemm) = {kBlock, run, pack};

}  // namespace poprt::kernels::isa
