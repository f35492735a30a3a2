#include "kernels/isa/conv_bf16.h"

#include "kernels/isa/conv_task.h"
#include "kernels/isa/conv_tile.h"
#include "kernels/isa/stored.h"

namespace poprt::kernels::isa {
namespace {

using PairsOf16 = u32x16;  // sixteen pairs of bf16
typedef u32x16 loose_pairs __attribute__((aligned(2), may_alias));
typedef uint32_t loose_pair __attribute__((aligned(2), may_alias));

POPRT_INLINE PairsOf16 load_pairs(const uint8_t* p) {
  return *reinterpret_cast<const loose_pairs*>(p);
}
POPRT_INLINE PairsOf16 splat_pair(const uint8_t* p) {
  return PairsOf16{} + *reinterpret_cast<const loose_pair*>(p);
}

// The tiles below are compiled for CPUs with AVX512-BF16. A compiler emits instructions of this
// extension only for variables of type bf16, and the tiles with FusedPairs have none, so these run
// on every CPU with AVX-512.
#if defined(__AVX512F__)
#define POPRT_PAIRS __attribute__((target("avx512bf16")))
struct DotPairs {
  static POPRT_INLINE POPRT_PAIRS f32x16 add(f32x16 sum, PairsOf16 x, PairsOf16 w) {
    return reinterpret_cast<f32x16>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                     reinterpret_cast<__m512bh>(x),
                                                     reinterpret_cast<__m512bh>(w)));
  }
  static POPRT_INLINE POPRT_PAIRS u16x16 round(f32x16 v) {
    return reinterpret_cast<u16x16>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(v)));
  }
};
#else
#define POPRT_PAIRS
#endif
struct FusedPairs {
  static POPRT_INLINE f32x16 high(PairsOf16 v) { return reinterpret_cast<f32x16>(v & 0xffff0000u); }
  static POPRT_INLINE f32x16 low(PairsOf16 v) { return reinterpret_cast<f32x16>(v << 16); }
  static POPRT_INLINE f32x16 add(f32x16 sum, PairsOf16 x, PairsOf16 w) {
    return fma(low(x), low(w), fma(high(x), high(w), sum));
  }
  static POPRT_INLINE u16x16 round(f32x16 v) { return to_bf16_bits(v); }
};

struct PairIn {
  // Segment s starts at a + s * a_segment; pixel r of it is at r * a_row. Distances are in bytes.
  const uint8_t* a;
  int64_t a_row, a_segment;
  int64_t full, tail, tail_pairs;  // segments of 8 pairs, followed by segments of tail_pairs
  const uint8_t* w;
  int64_t w_vector;
};

// A tile that is not `last` stores its sums in `sums`, [vector][row][16]; one that is not `first`
// adds those sums.
struct PairOut {
  StoredOut to;
  const float* bias;
  float* sums;
  int64_t sums_vector;
  bool first, last;
};

template <class Pairs, int P, int Q>
POPRT_INLINE POPRT_PAIRS void pair_step(f32x16 (&acc)[P][Q], const uint8_t* a, int64_t a_row,
                                        const uint8_t* w, int64_t w_vector) {
  // Prevents moving the loads of later steps to here, where they would take the registers of the
  // sums.
  asm volatile("" ::: "memory");
  PairsOf16 column[Q];
  POPRT_UNROLL for (int q = 0; q < Q; q++) column[q] = load_pairs(w + q * w_vector);
  POPRT_UNROLL for (int r = 0; r < P; r++) {
    const PairsOf16 x = splat_pair(a + r * a_row);
    POPRT_UNROLL for (int q = 0; q < Q; q++) acc[r][q] = Pairs::add(acc[r][q], x, column[q]);
  }
}

template <int P, int Q>
POPRT_INLINE void add_residual(f32x16 (&acc)[P][Q], const StoredOut& o) {
  if (o.bf16_residual) {
    const auto* p = static_cast<const uint16_t*>(o.residual);
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) acc[r][q] +=
        load_stored(p + r * o.row + q * o.vector);
  } else {
    const auto* p = static_cast<const float*>(o.residual);
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) acc[r][q] +=
        load_stored(p + r * o.row + q * o.vector);
  }
}

template <class Pairs, int P, int Q>
POPRT_INLINE POPRT_PAIRS void pair_store(f32x16 (&acc)[P][Q], const PairOut& out) {
  const StoredOut& o = out.to;
  const Epilogue& e = *o.epilogue;
  if (!out.first)
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) acc[r][q] +=
        load(out.sums + q * out.sums_vector + r * 16);
  if (!out.last) {
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++)
        store(out.sums + q * out.sums_vector + r * 16, acc[r][q]);
    return;
  }
  if (e.mode == Epilogue::general) {
    alignas(64) float sums[P * Q * 16];
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++)
        store(sums + (q * P + r) * 16, acc[r][q]);
    return store_activated(sums, P * 16, o, P, Q);
  }
  if (o.residual && !e.residual_after) add_residual(acc, o);
  if (e.mode == Epilogue::clamped) {
    const f32x16 low = splat(e.low), high = splat(e.high);
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++) acc[r][q] =
        vmin(high, vmax(low, acc[r][q]));  // a NaN is kept
  }
  if (o.residual && e.residual_after) add_residual(acc, o);
  if (o.bf16_y) {
    auto* p = static_cast<uint16_t*>(o.y);
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++)
        store_u16(p + r * o.row + q * o.vector, Pairs::round(acc[r][q]));
  } else {
    auto* p = static_cast<float*>(o.y);
    POPRT_UNROLL for (int r = 0; r < P; r++) POPRT_UNROLL for (int q = 0; q < Q; q++)
        store(p + r * o.row + q * o.vector, acc[r][q]);
  }
}

// kRow is the distance of two pixels if it is constant.
template <class Pairs, int kRow, int P, int Q>
POPRT_PAIRS void conv_pairs(const PairIn& in, const PairOut& out) {
  f32x16 acc[P][Q];
  POPRT_UNROLL for (int q = 0; q < Q; q++) {
    const f32x16 bias = out.first && out.bias ? load(out.bias + 16 * q) : zero();
    POPRT_UNROLL for (int r = 0; r < P; r++) acc[r][q] = bias;
  }
  const uint8_t* a = in.a;
  const uint8_t* w = in.w;
  const int64_t w_vector = in.w_vector, row = kRow ? kRow : in.a_row;
  if constexpr (kRow != 0)
    for (int64_t s = 0; s < in.full; s++, a += in.a_segment)
      for (int i = 0; i < 32; i += 16, w += 256) {
        POPRT_UNROLL for (int j = 0; j < 4; j++)
            pair_step<Pairs>(acc, a + i + 4 * j, row, w + 64 * j, w_vector);
      }
  for (int64_t s = 0; s < in.tail; s++, a += in.a_segment)
    for (int64_t i = 0; i < in.tail_pairs; i++, w += 64)
      pair_step<Pairs>(acc, a + 4 * i, row, w, w_vector);
  pair_store<Pairs>(acc, out);
}

// The rows of tiles whose pixels have any distance, which takes more registers for addresses.
constexpr int kLooseRows = kMaxVectors == 4 ? 8 : 3;
constexpr int loose_rows(int vectors) {
  return kMaxRows[vectors] < kLooseRows ? kMaxRows[vectors] : kLooseRows;
}

using PairTileFn = void (*)(const PairIn&, const PairOut&);
struct ConvPairTiles {
  PairTileFn blocked[kMaxVectors + 1][25] = {};
  PairTileFn loose[kMaxVectors + 1][kLooseRows + 1] = {};
};
template <class Pairs, int P, int Q>
constexpr void fill_conv_pairs(ConvPairTiles& t) {
  t.blocked[Q][P] = conv_pairs<Pairs, 32, P, Q>;
  if constexpr (P <= loose_rows(Q)) t.loose[Q][P] = conv_pairs<Pairs, 0, P, Q>;
  if constexpr (P > 1)
    fill_conv_pairs<Pairs, P - 1, Q>(t);
  else if constexpr (Q > 1)
    fill_conv_pairs<Pairs, kMaxRows[Q - 1], Q - 1>(t);
}
template <class Pairs>
constexpr ConvPairTiles make_conv_pairs() {
  ConvPairTiles t;
  fill_conv_pairs<Pairs, kMaxRows[kMaxVectors], kMaxVectors>(t);
  return t;
}
constexpr ConvPairTiles kFusedTiles = make_conv_pairs<FusedPairs>();
#if defined(__AVX512F__)
constexpr ConvPairTiles kDotTiles = make_conv_pairs<DotPairs>();
const ConvPairTiles& pair_tiles(bool dots) { return dots ? kDotTiles : kFusedTiles; }
#else
const ConvPairTiles& pair_tiles(bool) { return kFusedTiles; }
#endif

// Copies pixels of a plane as bf16, [count][16].
template <class T>
struct CopyPairs {
  const T* plane;
  uint16_t* to;
  POPRT_INLINE void zeros(int64_t n) {
    for (int64_t i = 0; i < n; i++, to += 16) store_u16(to, u16x16{});
  }
  POPRT_INLINE void pixels(int64_t first, int64_t step, int64_t n) {
    const T* from = plane + first * 16;
    for (int64_t i = 0; i < n; i++, to += 16, from += step * 16) {
      if constexpr (sizeof(T) == 2)
        store_u16(to, *reinterpret_cast<const u16x16u*>(from));
      else
        store_u16(to, to_bf16_bits(load(from)));
    }
  }
};

// Copies all segments of a task, (channel block, tap), to [segment][pixel][16].
template <class T>
void gather_pairs(const ConvShape& s, const BlockedTask& t, const T* x, uint16_t* to) {
  const int64_t taps = s.taps();
  x += (t.image * s.groups + t.group) * s.c_blocks * s.in_pixels() * 16;
  for (int64_t block = 0; block < s.c_blocks; block++, x += s.in_pixels() * 16)
    for (int64_t tap = 0; tap < taps; tap++, to += t.pixels * 16)
      gather_tap(s, tap, t.pixel, t.pixels, CopyPairs<T>{x, to});
  // Sets the channel after an odd number of them to zero: its weights are zero, but x may contain a
  // NaN there.
  if (s.c % 2 == 0) return;
  to -= taps * t.pixels * 16;
  for (int64_t i = 0; i < taps * t.pixels; i++) to[i * 16 + s.c % 16] = 0;
}

// Prefetches the weights of the next chunk of K, or of the next blocks of output channels, into the
// L2 cache: each tile prefetches a part of them. A pair of K is one cache line.
struct NextWeights {
  const uint8_t* at;
  // Lines of a block of output channels that are not prefetched yet; bytes between blocks; blocks.
  int64_t pairs, vector, vectors;
  void fetch(int64_t lines) {
    for (int64_t q = 0; q < vectors; q++)
      for (int64_t i = 0; i < lines; i++) __builtin_prefetch(at + q * vector + i * 64, 0, 2);
    at += lines * 64;
    pairs -= lines;
  }
};

void run_blocked_pairs(bool dots, const ConvShape& s, const ConvBlocking& b, const void* x,
                       const uint16_t* weights, const float* bias, const void* residual, void* y,
                       int64_t begin, int64_t end, std::byte* scratch) noexcept {
  const ConvPairTiles& tiles = pair_tiles(dots);
  const int64_t taps = s.taps(), full = s.c / 16 * taps, tail_pairs = (s.c % 16 + 1) / 2;
  const int64_t segments = s.c_blocks * taps, pairs = bf16_pairs(s.c, taps);
  const int64_t out_pixels = s.out_pixels();
  auto* const copied = reinterpret_cast<uint16_t*>(scratch);
  auto* const sums = reinterpret_cast<float*>(scratch + bf16_input_bytes(s, b));
  // The weights of a block of output channels from a segment on.
  const auto panel = [&](int64_t block, int64_t segment) {
    const int64_t pair = segment <= full ? segment * 8 : full * 8 + (segment - full) * tail_pairs;
    return reinterpret_cast<const uint8_t*>(weights) + (block * pairs + pair) * 64;
  };
  for (int64_t task = begin; task < end; task++) {
    const BlockedTask t(s, b, task);
    PairIn in{};
    in.tail_pairs = tail_pairs;
    in.w_vector = pairs * 64;
    const uint8_t* a = reinterpret_cast<const uint8_t*>(copied);
    in.a_segment = t.pixels * 32;
    if (bf16_in_place(s)) {
      const int64_t plane = (t.image * s.groups + t.group) * s.c_blocks * out_pixels;
      a = static_cast<const uint8_t*>(x) + (plane + t.pixel) * 32;
      in.a_segment = out_pixels * 32;
    } else if (s.bf16_x) {
      gather_pairs(s, t, static_cast<const uint16_t*>(x), copied);
    } else {
      gather_pairs(s, t, static_cast<const float*>(x), copied);
    }
    PairOut out{};
    out.to = {nullptr, nullptr, 16, out_pixels * 16, s.bf16_y, s.bf16_residual, &s.epilogue};
    out.sums_vector = t.pixels * 16;
    for (int64_t oc = t.oc_begin; oc < t.oc_end;) {
      const int64_t vectors = least(b.vectors, t.oc_end - oc), block = t.group * s.oc_blocks + oc;
      const int64_t at = ((t.block_of_all(s) + oc - t.oc_begin) * out_pixels + t.pixel) * 16;
      out.bias = bias ? bias + block * 16 : nullptr;
      for (int64_t s0 = 0; s0 < segments; s0 += b.segments) {
        const int64_t s1 = least(segments, s0 + b.segments);
        in.full = most(0, least(s1, full) - s0);
        in.tail = s1 - s0 - in.full;
        in.w = panel(block, s0);
        out.first = s0 == 0;
        out.last = s1 == segments;
        // All chunks but the last have b.segments segments. A prefetch beyond the end of the last
        // one does no harm.
        const int64_t next_oc = out.last ? oc + vectors : oc;
        const int64_t next_vectors = most(0, least(b.vectors, t.oc_end - next_oc));
        NextWeights next{panel(block + next_oc - oc, out.last ? 0 : s1),
                         least(b.segments * 8, pairs), in.w_vector, next_vectors};
        for (int64_t p = 0; p < t.pixels;) {
          const int64_t rows = even_piece(t.pixels - p, kMaxRows[vectors]);
          next.fetch(next.pairs * rows / (t.pixels - p));
          in.a = a + s0 * in.a_segment + p * 32;
          out.to.y = stored_at(y, s.bf16_y, at + p * 16);
          out.to.residual = stored_at(residual, s.bf16_residual, at + p * 16);
          out.sums = sums + p * 16;
          tiles.blocked[vectors][rows](in, out);
          p += rows;
        }
      }
      oc += vectors;
    }
  }
}

// Writes the first `n` values of `channels` rows of floats as [column][channels] of bf16 at `to`. A
// row that is null becomes zeros.
void interleave_rows(const float* const* rows, int64_t channels, int64_t n, uint16_t* to) {
  const int64_t words = channels / 2;
  auto* const pairs = reinterpret_cast<loose_pair*>(to);
  for (int64_t i = 0; i < n; i += 16) {
    const int64_t count = least(16, n - i);
    u32x16 v[8] = {};
    for (int64_t p = 0; p < words; p++) {
      const f32x16 even = load_first(rows[2 * p] + i, count);
      const f32x16 odd = rows[2 * p + 1] ? load_first(rows[2 * p + 1] + i, count) : zero();
      v[p] = __builtin_convertvector(to_bf16_bits(even), u32x16) |
             __builtin_convertvector(to_bf16_bits(odd), u32x16) << 16;
    }
    if (words == 2 && count == 16) {
      auto* const at = reinterpret_cast<loose_pairs*>(pairs + 2 * i);
      at[0] = __builtin_shufflevector(v[0], v[1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                      7, 23);
      at[1] = __builtin_shufflevector(v[0], v[1], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                                      30, 15, 31);
      continue;
    }
    for (int64_t j = 0; j < count; j++)
      for (int64_t p = 0; p < words; p++) pairs[(i + j) * words + p] = v[p][j];
  }
}

// Copies the input rows of the output rows from `row` of an image on.
void stem_pairs(const ConvShape& s, const Bf16Rows& l, const float* image, int64_t row,
                uint16_t* to) {
  // Columns [left, right) of a copied row are inside the image.
  const int64_t left = least(s.pad_w, l.columns),
                right = most(left, least(l.columns, s.pad_w + s.w));
  for (int64_t r = 0; r < l.rows; r++, to += l.channels * l.columns) {
    const int64_t iy = row * s.stride_h - s.pad_h + r;
    const bool inside = iy >= 0 && iy < s.h;
    const int64_t a = inside ? left : l.columns, b = inside ? right : l.columns;
    for (int64_t i = 0; i < a * l.channels; i++) to[i] = 0;
    if (a < b) {
      const float* rows[16] = {};
      for (int64_t c = 0; c < s.c; c++) rows[c] = image + (c * s.h + iy) * s.w;
      interleave_rows(rows, l.channels, b - a, to + a * l.channels);
    }
    for (int64_t i = b * l.channels; i < l.columns * l.channels; i++) to[i] = 0;
  }
}

void run_stem_pairs(bool dots, const ConvShape& s, const ConvBlocking& b, const float* x,
                    const uint16_t* weights, const float* bias, const void* residual, void* y,
                    int64_t begin, int64_t end, std::byte* scratch) noexcept {
  const ConvPairTiles& tiles = pair_tiles(dots);
  const Bf16Rows l = bf16_rows(s, b.pixels);
  auto* const copied = reinterpret_cast<uint16_t*>(scratch);
  const int64_t out_pixels = s.out_pixels(), pairs = s.kh * s.kw * l.channels / 2;
  PairIn in{};
  in.a_row = s.stride_w * l.channels * 2;
  in.a_segment = s.dilation_h * l.row_bytes();
  in.tail = s.kh;
  in.tail_pairs = s.kw * l.channels / 2;
  in.w_vector = pairs * 64;
  PairOut out{};
  out.to = {nullptr, nullptr, 16, out_pixels * 16, s.bf16_y, s.bf16_residual, &s.epilogue};
  out.first = out.last = true;
  for (int64_t task = begin; task < end; task++) {
    const int64_t image = task / b.pixel_tasks, row0 = task % b.pixel_tasks * b.pixels;
    const int64_t rows = least(b.pixels, s.oh - row0);
    stem_pairs(s, l, x + image * s.c * s.h * s.w, row0, copied);
    for (int64_t oc = 0; oc < s.oc_blocks;) {
      const int64_t vectors = least(b.vectors, s.oc_blocks - oc);
      in.w = reinterpret_cast<const uint8_t*>(weights) + oc * pairs * 64;
      out.bias = bias ? bias + oc * 16 : nullptr;
      for (int64_t r = 0; r < rows; r++) {
        const uint8_t* from =
            reinterpret_cast<const uint8_t*>(copied) + r * s.stride_h * l.row_bytes();
        const int64_t at = ((image * s.oc_blocks + oc) * out_pixels + (row0 + r) * s.ow) * 16;
        for (int64_t p = 0; p < s.ow;) {
          const int64_t count = even_piece(s.ow - p, loose_rows(static_cast<int>(vectors)));
          in.a = from + p * in.a_row;
          out.to.y = stored_at(y, s.bf16_y, at + p * 16);
          out.to.residual = stored_at(residual, s.bf16_residual, at + p * 16);
          tiles.loose[vectors][count](in, out);
          p += count;
        }
      }
      oc += vectors;
    }
  }
}

int64_t choose_pair_vectors(int64_t pixels, int64_t blocks) { return best_vectors(pixels, blocks); }

}  // namespace

extern const ConvBf16Table POPRT_ISA_NAME(conv_bf16);
const ConvBf16Table POPRT_ISA_NAME(conv_bf16) = {choose_pair_vectors, run_blocked_pairs,
                                                 run_stem_pairs};

}  // namespace poprt::kernels::isa
