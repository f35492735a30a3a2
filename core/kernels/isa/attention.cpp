#include "kernels/isa/attention.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/join_rows.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

constexpr int64_t kPanel = kAttentionPanel;

POPRT_INLINE int64_t round_up(int64_t n, int64_t m) { return (n + m - 1) / m * m; }

// Perfect shuffles: four rounds that interleave row i with row i + 8 transpose a 16 x 16 matrix.
POPRT_INLINE void transpose16(f32x16 (&r)[16]) {
  f32x16 t[16];
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 8; i++) {
      t[2 * i] = __builtin_shufflevector(r[i], r[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                         6, 22, 7, 23);
      t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                             13, 29, 14, 30, 15, 31);
    }
    for (int i = 0; i < 16; i++) r[i] = t[i];
  }
}

// Packs keys into panels of 64 keys: [panel][d][64]; absent keys are zero.
void pack_keys(float* to, const float* k, int64_t stride, int64_t keys, int64_t size) {
  for (int64_t panel = 0; panel < keys; panel += kPanel, to += kPanel * size) {
    for (int64_t t0 = 0; t0 < kPanel; t0 += 16) {
      int64_t rows = keys - panel - t0;
      rows = rows < 0 ? 0 : rows > 16 ? 16 : rows;
      for (int64_t d0 = 0; d0 < size; d0 += 16) {
        const int64_t columns = size - d0 < 16 ? size - d0 : 16;
        f32x16 r[16];
        for (int64_t i = 0; i < 16; i++)
          r[i] = i < rows ? load_first(k + (panel + t0 + i) * stride + d0, columns) : zero();
        transpose16(r);
        for (int64_t d = 0; d < columns; d++) store(to + (d0 + d) * kPanel + t0, r[d]);
      }
    }
  }
}

// Packs values into panels of 64 columns: [panel][t][64]; absent columns are zero.
void pack_values(float* to, const float* v, int64_t stride, int64_t keys, int64_t size) {
  for (int64_t panel = 0; panel < size; panel += kPanel) {
    for (int64_t t = 0; t < keys; t++, to += kPanel) {
      for (int64_t d = 0; d < kPanel; d += 16) {
        int64_t n = size - panel - d;
        n = n < 0 ? 0 : n > 16 ? 16 : n;
        store(to + d, load_first(v + t * stride + panel + (n ? d : 0), n));
      }
    }
  }
}

// c[r][0..columns) = row_scale[r] * sum over k of a[r][k] * b[k][0..64).
template <int R, int V>
POPRT_INLINE void tile(const float* a, int64_t a_stride, const float* b, int64_t depth, float* c,
                       int64_t c_stride, int64_t columns, const float* row_scale) {
  f32x16 acc[R][V];
  for (int r = 0; r < R; r++)
    for (int v = 0; v < V; v++) acc[r][v] = zero();
  for (int64_t k = 0; k < depth; k++) {
    f32x16 row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) row[v] = load(b + k * kPanel + 16 * v);
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) {
      const f32x16 x = splat(a[r * a_stride + k]);
#pragma GCC unroll 4
      for (int v = 0; v < V; v++) acc[r][v] = fma(x, row[v], acc[r][v]);
    }
  }
  for (int r = 0; r < R; r++) {
    const f32x16 s = splat(row_scale[r]);
    for (int v = 0; v < V; v++) {
      const int64_t n = columns - 16 * v;
      if (n >= 16)
        store(c + r * c_stride + 16 * v, acc[r][v] * s);
      else if (n > 0)
        store_first(c + r * c_stride + 16 * v, acc[r][v] * s, n);
    }
  }
}

// The largest tile whose sums remain in registers.
#if defined(__AVX512F__)
constexpr int kTileRows = 6, kTileVectors = 4;
#elif defined(__AVX2__)
constexpr int kTileRows = 6, kTileVectors = 1;
#else
constexpr int kTileRows = 3, kTileVectors = 1;
#endif

template <int R>
void tile_row(const float* a, int64_t a_stride, const float* b, int64_t depth, float* c,
              int64_t c_stride, int64_t columns, const float* row_scale) {
  for (; columns > 16 * kTileVectors;
       columns -= 16 * kTileVectors, b += 16 * kTileVectors, c += 16 * kTileVectors)
    tile<R, kTileVectors>(a, a_stride, b, depth, c, c_stride, columns, row_scale);
  const auto last = [&]<int V>(auto& self) {
    if constexpr (V > 1)
      if (columns <= 16 * (V - 1)) return self.template operator()<V - 1>(self);
    tile<R, V>(a, a_stride, b, depth, c, c_stride, columns, row_scale);
  };
  last.template operator()<kTileVectors>(last);
}

// Multiplies `rows` rows, at most R of them, by one panel.
template <int R>
void some_rows(int64_t rows, const float* a, int64_t a_stride, const float* b, int64_t depth,
               float* c, int64_t c_stride, int64_t columns, const float* row_scale) {
  if constexpr (R > 1)
    if (rows < R)
      return some_rows<R - 1>(rows, a, a_stride, b, depth, c, c_stride, columns, row_scale);
  tile_row<R>(a, a_stride, b, depth, c, c_stride, columns, row_scale);
}

// Multiplies any number of rows by one panel.
void rows_by_panel(int64_t rows, const float* a, int64_t a_stride, const float* b, int64_t depth,
                   float* c, int64_t c_stride, int64_t columns, const float* row_scale) {
  for (int64_t r = 0; r < rows; r += kTileRows)
    some_rows<kTileRows>(rows - r, a + r * a_stride, a_stride, b, depth, c + r * c_stride, c_stride,
                         columns, row_scale + r);
}

// The mask of query i as floats: addends, or 1 / 0 for booleans. If all queries have the same mask,
// the call for query 0 has filled `room`.
const float* mask_row(const AttentionHead& h, int64_t i, float* room) {
  const int64_t at = i * h.mask_query_stride;
  if (h.mask && h.mask_key_stride == 1) return h.mask + at;
  if (h.mask_query_stride == 0 && i != 0) return room;
  for (int64_t t = 0; t < h.keys; t++) {
    const int64_t e = at + t * h.mask_key_stride;
    room[t] = h.mask ? h.mask[e] : h.mask_bool[e] ? 1.0f : 0.0f;
  }
  return room;
}

// Applies the mask, if there is one, to x[0..n): adds it or, if `replaces`, writes mask_value where
// it is 0. Then replaces x by exp(x - max) and returns 1 / sum.
float exponentials(float* x, int64_t n, const float* mask, bool replaces, float mask_value) {
  const float low = -__builtin_inff();
  f32x16 top = splat(low);
  const auto masked = [&](f32x16 v, f32x16 m) {
    return replaces ? (m != 0.0f ? v : splat(mask_value)) : v + m;
  };
  int64_t t = 0;
  if (mask) {
    for (; t + 16 <= n; t += 16) {
      const f32x16 v = masked(load(x + t), load(mask + t));
      store(x + t, v);
      top = vmax(v, top);
    }
    for (; t < n; t += 16) {
      const f32x16 v = masked(load_first(x + t, n - t), load_first(mask + t, n - t));
      store_first(x + t, v, n - t);
    }
  } else {
    for (; t + 16 <= n; t += 16) top = vmax(load(x + t), top);
  }
  float m = max_lane(top);
  for (t = n / 16 * 16; t < n; t++) m = x[t] > m ? x[t] : m;
  const f32x16 peak = splat(m);
  f32x16 total = zero();
  for (t = 0; t + 16 <= n; t += 16) {
    const f32x16 e = vexp(load(x + t) - peak);
    store(x + t, e);
    total += e;
  }
  if (t < n) {
    float tail[16] = {};
    store_first(x + t, vexp(load_first(x + t, n - t) - peak), n - t);
    for (int64_t i = 0; i < n - t; i++) tail[i] = x[t + i];
    total += load(tail);
  }
  return 1.0f / sum(total);
}

// Lane i of the result is the sum of the lanes of v[i].
POPRT_INLINE f32x16 sums_of_lanes(const f32x16 (&v)[16]) {
  return join_rows(v, [](f32x16 a, f32x16 b) -> f32x16 { return a + b; });
}

// Prefetches columns [first, end) of the rows ahead into the second level, in equal parts: one
// before each `step` rows that are read, because many prefetches at once would delay the reads.
class Prefetcher {
 public:
  POPRT_INLINE Prefetcher(const SharedRows& rows, int64_t first, int64_t end, int64_t step)
      : row_(rows.ahead.first),
        left_(rows.ahead.count),
        at_once_(rows.count > 0 ? (rows.ahead.count * step + rows.count - 1) / rows.count : 0),
        stride_(rows.stride),
        first_(first),
        end_(end) {}
  POPRT_INLINE void next() {
    constexpr int64_t kLine = 16;  // floats
    for (int64_t i = 0; i < at_once_ && left_ > 0; i++, left_--, row_ += stride_)
      for (int64_t d = first_; d < end_; d += kLine) __builtin_prefetch(row_ + d, 0, 2);
  }

 private:
  const float* row_;
  int64_t left_, at_once_, stride_, first_, end_;
};

// Processes sixteen keys at a time: sixteen sums in lanes.
void scores_of(const float* q, const float* k, int64_t stride, int64_t keys, int64_t size,
               float scale, float* scores, const RowsAhead& ahead) noexcept {
  Prefetcher prefetcher({k, stride, keys, size, ahead}, 0, size, 16);
  for (int64_t t = 0; t < keys; t += 16) {
    const int64_t rows = keys - t < 16 ? keys - t : 16;
    f32x16 sums[16];
    for (auto& s : sums) s = zero();
    prefetcher.next();
    for (int64_t d = 0; d < size; d += 16) {
      const int64_t n = size - d < 16 ? size - d : 16;
      const f32x16 x = load_first(q + d, n);
      if (rows == 16 && n == 16) {
        for (int64_t i = 0; i < 16; i++) sums[i] = fma(x, load(k + (t + i) * stride + d), sums[i]);
      } else {
        for (int64_t i = 0; i < rows; i++)
          sums[i] = fma(x, load_first(k + (t + i) * stride + d, n), sums[i]);
      }
    }
    store_first(scores + t, sums_of_lanes(sums) * scale, rows);
  }
}

// Calls `kernel` for all heads if their sums remain in registers, and else for one after another.
template <class F>
POPRT_INLINE void each_head(SharedRows rows, int64_t heads, F kernel) {
#if defined(__AVX512F__)
  if (heads == 3) return kernel.template operator()<3>(rows, 0);
  if (heads == 2) return kernel.template operator()<2>(rows, 0);
#endif
  for (int64_t h = 0; h < heads; h++, rows.ahead = {}) kernel.template operator()<1>(rows, h);
}

// Even and odd rows have separate sums, because the latency of one sum would limit the speed.
template <int H, int V>
POPRT_INLINE void mix_columns(const SharedRows& v, int64_t column, const float* weights,
                              int64_t weights_stride, float scale, float* y, int64_t y_stride) {
  const int64_t columns = v.size - column < kPanel ? v.size - column : kPanel;
  const int64_t last = columns - 16 * (V - 1);  // lanes of the last vector
  f32x16 acc[2][H][V] = {};
  const auto add = [&](int64_t t, f32x16(&to)[H][V]) {
    const float* row = v.first + t * v.stride + column;
    f32x16 x[V];
#pragma GCC unroll 4
    for (int i = 0; i + 1 < V; i++) x[i] = load(row + 16 * i);
    x[V - 1] = load_first(row + 16 * (V - 1), last);
#pragma GCC unroll 3
    for (int h = 0; h < H; h++) {
      const f32x16 w = splat(weights[h * weights_stride + t]);
#pragma GCC unroll 4
      for (int i = 0; i < V; i++) to[h][i] = fma(w, x[i], to[h][i]);
    }
  };
  Prefetcher prefetcher(v, column, column + columns, 2);
  int64_t t = 0;
  for (; t + 1 < v.count; t += 2) {
    prefetcher.next();
    add(t, acc[0]);
    add(t + 1, acc[1]);
  }
  if (t < v.count) add(t, acc[0]);
  for (int h = 0; h < H; h++)
    for (int i = 0; i < V; i++)
      store_first(y + h * y_stride + column + 16 * i, (acc[0][h][i] + acc[1][h][i]) * scale,
                  i + 1 < V ? 16 : last);
}

void mix(const SharedRows& v, int64_t heads, const float* weights, int64_t weights_stride,
         float scale, float* y, int64_t y_stride) noexcept {
  each_head(v, heads, [&]<int H>(const SharedRows& rows, int64_t h) {
    const float* w = weights + h * weights_stride;
    float* to = y + h * y_stride;
    for (int64_t d = 0; d < v.size; d += kPanel) switch ((v.size - d + 15) / 16) {
        case 1: mix_columns<H, 1>(rows, d, w, weights_stride, scale, to, y_stride); break;
        case 2: mix_columns<H, 2>(rows, d, w, weights_stride, scale, to, y_stride); break;
        case 3: mix_columns<H, 3>(rows, d, w, weights_stride, scale, to, y_stride); break;
        default: mix_columns<H, 4>(rows, d, w, weights_stride, scale, to, y_stride); break;
      }
  });
}

typedef int8_t i8x16 __attribute__((vector_size(16)));
typedef i8x16 i8x16u __attribute__((aligned(1), may_alias));

POPRT_INLINE f32x16 widen(const int8_t* p) {
  return to_f32(__builtin_convertvector(*reinterpret_cast<const i8x16u*>(p), i32x16));
}
// The first n of 16 lanes; others are zero. Reads nothing after them.
POPRT_INLINE f32x16 widen_first(const int8_t* p, int64_t n) {
  if (n == 16) return widen(p);
  int8_t room[16] = {};
  for (int64_t i = 0; i < n; i++) room[i] = p[i];
  return widen(room);
}

POPRT_INLINE float row_scale(const int8_t* row, int64_t size) {
  float scale;
  __builtin_memcpy(&scale, row + size, sizeof scale);
  return scale;
}

void byte_scores(const float* q, const int8_t* k, int64_t stride, int64_t keys, int64_t size,
                 float scale, float* scores) noexcept {
  for (int64_t t = 0; t < keys; t += 16) {
    const int64_t rows = keys - t < 16 ? keys - t : 16;
    const int8_t* first = k + t * stride;
    f32x16 sums[16];
    for (auto& s : sums) s = zero();
    for (int64_t d = 0; d < size; d += 16) {
      const int64_t n = size - d < 16 ? size - d : 16;
      const f32x16 x = load_first(q + d, n);
      if (rows == 16 && n == 16) {
        for (int64_t i = 0; i < 16; i++) sums[i] = fma(x, widen(first + i * stride + d), sums[i]);
      } else {
        for (int64_t i = 0; i < rows; i++)
          sums[i] = fma(x, widen_first(first + i * stride + d, n), sums[i]);
      }
    }
    float scales[16] = {};
    for (int64_t i = 0; i < rows; i++) scales[i] = scale * row_scale(first + i * stride, size);
    store_first(scores + t, sums_of_lanes(sums) * load(scales), rows);
  }
}

template <int V>
POPRT_INLINE void byte_mix_columns(const float* weights, const int8_t* v, int64_t stride,
                                   int64_t keys, int64_t size, int64_t column, float scale,
                                   float* y) {
  const int64_t columns = size - column < kPanel ? size - column : kPanel;
  const int64_t last = columns - 16 * (V - 1);  // lanes of the last vector
  f32x16 acc[V];
  for (auto& a : acc) a = zero();
  for (int64_t t = 0; t < keys; t++) {
    const int8_t* row = v + t * stride;
    const f32x16 w = splat(weights[t] * row_scale(row, size));
#pragma GCC unroll 4
    for (int i = 0; i + 1 < V; i++) acc[i] = fma(w, widen(row + column + 16 * i), acc[i]);
    acc[V - 1] = fma(w, widen_first(row + column + 16 * (V - 1), last), acc[V - 1]);
  }
  for (int i = 0; i < V; i++)
    store_first(y + column + 16 * i, acc[i] * scale, i + 1 < V ? 16 : last);
}

void byte_mix(const float* weights, const int8_t* v, int64_t stride, int64_t keys, int64_t size,
              float scale, float* y) noexcept {
  for (int64_t d = 0; d < size; d += kPanel) {
    const int64_t columns = size - d < kPanel ? size - d : kPanel;
    switch ((columns + 15) / 16) {
      case 1: byte_mix_columns<1>(weights, v, stride, keys, size, d, scale, y); break;
      case 2: byte_mix_columns<2>(weights, v, stride, keys, size, d, scale, y); break;
      case 3: byte_mix_columns<3>(weights, v, stride, keys, size, d, scale, y); break;
      default: byte_mix_columns<4>(weights, v, stride, keys, size, d, scale, y); break;
    }
  }
}

void quantize_rows(const float* rows, int64_t count, int64_t size, int8_t* to,
                   int64_t stride) noexcept {
  constexpr float kMost = 127, kTiny = 1e-30f;
  for (int64_t r = 0; r < count; r++, rows += size, to += stride) {
    f32x16 top = zero(), check = zero();
    for (int64_t d = 0; d < size; d += 16) {
      const f32x16 x = load_first(rows + d, size - d < 16 ? size - d : 16);
      top = vmax(vabs(x), top);
      check = fma(x, zero(), check);
    }
    const float most = max_lane(top), finite = sum(check);
    const bool empty = most < kTiny;  // its reciprocal would not be finite
    const f32x16 by = splat(empty ? 0.0f : kMost / most);
    for (int64_t d = 0; d < size; d += 16) {
      const int64_t n = size - d < 16 ? size - d : 16;
      const f32x16 x = vround(clamp(load_first(rows + d, n) * by, -kMost, kMost));
      const i8x16 bytes = __builtin_convertvector(to_i32(is_nan(x) ? zero() : x), i8x16);
      if (n == 16)
        *reinterpret_cast<i8x16u*>(to + d) = bytes;
      else
        for (int64_t i = 0; i < n; i++) to[d + i] = bytes[i];
    }
    const float scale = finite != 0 ? __builtin_nanf("") : empty ? 0.0f : most / kMost;
    __builtin_memcpy(to + size, &scale, sizeof scale);
  }
}

void dequantize_rows(const int8_t* rows, int64_t stride, int64_t count, int64_t size,
                     float* to) noexcept {
  for (int64_t r = 0; r < count; r++, rows += stride, to += size) {
    const f32x16 scale = splat(row_scale(rows, size));
    for (int64_t d = 0; d < size; d += 16) {
      const int64_t n = size - d < 16 ? size - d : 16;
      store_first(to + d, widen_first(rows + d, n) * scale, n);
    }
  }
}

void few_queries(const AttentionHead& h, float* scratch) {
  float *scores = scratch, *mask_room = scratch + round_up(h.keys, kPanel);
  for (int64_t q = 0; q < h.queries; q++) {
    int64_t n = h.keys;
    if (h.causal) {
      n = h.first_position + q + 1;
      n = n < 0 ? 0 : n > h.keys ? h.keys : n;
    }
    scores_of(h.q + q * h.q_stride, h.k, h.k_stride, n, h.size, h.scale, scores, {});
    const float* mask = h.mask || h.mask_bool ? mask_row(h, q, mask_room) : nullptr;
    const float scale =
        n > 0 ? exponentials(scores, n, mask, h.mask_bool != nullptr, h.mask_value) : 0.0f;
    mix({h.v, h.v_stride, n, h.size, {}}, 1, scores, 0, scale, h.out + q * h.out_stride, 0);
  }
}

void head(const AttentionHead& h, float* scratch) noexcept {
  if (h.queries <= kFewQueries) return few_queries(h, scratch);
  const int64_t padded = round_up(h.keys, kPanel);
  float* keys = scratch;
  float* values = keys + padded * h.size;
  float* scores = values + h.keys * round_up(h.size, kPanel);
  float* mask_room = scores + kAttentionRows * padded;
  float scales[kAttentionRows], sums[kAttentionRows];
  for (auto& s : scales) s = h.scale;
  pack_keys(keys, h.k, h.k_stride, h.keys, h.size);
  pack_values(values, h.v, h.v_stride, h.keys, h.size);
  const bool has_mask = h.mask || h.mask_bool;
  for (int64_t q = 0; q < h.queries; q += kAttentionRows) {
    const int64_t rows = h.queries - q < kAttentionRows ? h.queries - q : kAttentionRows;
    // The number of keys that the last of these queries sees.
    int64_t seen = h.keys;
    if (h.causal) {
      seen = h.first_position + q + rows;
      seen = seen < 0 ? 0 : seen > h.keys ? h.keys : seen;
    }
    for (int64_t t = 0; t < seen; t += kPanel) {
      const int64_t columns = seen - t < kPanel ? seen - t : kPanel;
      rows_by_panel(rows, h.q + q * h.q_stride, h.q_stride, keys + t * h.size, h.size, scores + t,
                    padded, columns, scales);
    }
    for (int64_t r = 0; r < rows; r++) {
      float* x = scores + r * padded;
      int64_t n = seen;
      if (h.causal) {
        n = h.first_position + q + r + 1;
        n = n < 0 ? 0 : n > seen ? seen : n;
        for (int64_t t = n; t < seen; t++) x[t] = 0;
      }
      const float* mask = has_mask ? mask_row(h, q + r, mask_room) : nullptr;
      sums[r] = n > 0 ? exponentials(x, n, mask, h.mask_bool != nullptr, h.mask_value) : 0.0f;
    }
    for (int64_t d = 0; d < h.size; d += kPanel) {
      const int64_t columns = h.size - d < kPanel ? h.size - d : kPanel;
      rows_by_panel(rows, scores, padded, values + d * h.keys, seen, h.out + q * h.out_stride + d,
                    h.out_stride, columns, sums);
    }
  }
}

}  // namespace

extern const AttentionTable POPRT_ISA_NAME(attention);
const AttentionTable POPRT_ISA_NAME(attention) = {
    head, scores_of, mix, byte_scores, byte_mix, quantize_rows, dequantize_rows};

}  // namespace poprt::kernels::isa
