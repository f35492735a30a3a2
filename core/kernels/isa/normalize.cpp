#include "kernels/isa/normalize.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/join_rows.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

// The first n lanes of a and the other lanes of b.
POPRT_INLINE f32x16 select_first(f32x16 a, f32x16 b, int64_t n) {
  i32x16 lane;
  for (int i = 0; i < 16; i++) lane[i] = i;
  return lane < isplat(static_cast<int32_t>(n)) ? a : b;
}
POPRT_INLINE f32x16 first_lanes(f32x16 v, int64_t n) { return select_first(v, zero(), n); }

// Sums add(sum, f(x)). Four accumulators hide the latency of the additions. Lanes after the end are
// zero before `add`, so that a product in `add` is fused in the same way for all lanes.
template <class F, class Add>
POPRT_INLINE f32x16 lane_sums(const float* x, int64_t n, F f, Add add) {
  f32x16 s[4] = {};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int k = 0; k < 4; k++) s[k] = add(s[k], f(load(x + i + 16 * k)));
  for (; i + 16 <= n; i += 16) s[0] = add(s[0], f(load(x + i)));
  if (i < n) s[1] = add(s[1], first_lanes(f(load_first(x + i, n - i)), n - i));
  return (s[0] + s[1]) + (s[2] + s[3]);
}

constexpr auto same = [](f32x16 v) { return v; };
constexpr auto plus = [](f32x16 a, f32x16 b) { return a + b; };
constexpr auto plus_square = [](f32x16 a, f32x16 b) { return fma(b, b, a); };

// d * factor * scale + bias for lanes [i, i + n) of scale and bias, which may be null. Each case is
// one expression, so that every build fuses the same product into the addition.
POPRT_INLINE f32x16 scaled(f32x16 d, f32x16 factor, const float* scale, const float* bias,
                           int64_t i, int64_t n) {
  const f32x16 s = scale ? load_first(scale + i, n) : zero();
  const f32x16 b = bias ? load_first(bias + i, n) : zero();
  if (scale && bias) return fma(d * factor, s, b);
  if (bias) return fma(d, factor, b);
  return scale ? d * factor * s : d * factor;
}

// Calls f(first, count, y rows, x rows) for groups of up to sixteen rows.
template <class F>
POPRT_INLINE void each_group(float* y, const float* x, int64_t rows, int64_t n, F f) {
  for (int64_t first = 0; first < rows; first += kJoinedRows) {
    const float* from[kJoinedRows];
    float* to[kJoinedRows];
    const int64_t count = rows - first < kJoinedRows ? rows - first : kJoinedRows;
    for (int64_t r = 0; r < count; r++) {
      from[r] = x + (first + r) * n;
      to[r] = y + (first + r) * n;
    }
    f(first, count, to, from);
  }
}

POPRT_INLINE f32x16 lane_maxima(const float* x, int64_t n) {
  f32x16 top = splat(-__builtin_inff());
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) top = vmax(load(x + i), top);
  if (i == n) return top;
  const f32x16 rest = vmax(load_first(x + i, n - i), top);
  return select_first(rest, top, n - i);
}

float largest(const float* x, int64_t n) {
  const f32x16 least = splat(-__builtin_inff());
  f32x16 m[4] = {least, least, least, least};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int k = 0; k < 4; k++) m[k] = vmax(load(x + i + 16 * k), m[k]);
  for (; i + 16 <= n; i += 16) m[0] = vmax(load(x + i), m[0]);
  float top = max_lane(vmax(vmax(m[0], m[1]), vmax(m[2], m[3])));
  for (; i < n; i++) top = x[i] > top ? x[i] : top;
  return top;
}

void softmax_row(float* y, const float* x, int64_t n, bool log) noexcept {
  const f32x16 top = splat(largest(x, n));
  f32x16 total = zero();
  int64_t i = 0;
  if (log) {
    for (; i + 16 <= n; i += 16) total += vexp(load(x + i) - top);
    if (i < n) total += first_lanes(vexp(load_first(x + i, n - i) - top), n - i);
    const f32x16 shift = vlog(splat(sum(total)));
    for (i = 0; i + 16 <= n; i += 16) store(y + i, load(x + i) - top - shift);
    if (i < n) store_first(y + i, load_first(x + i, n - i) - top - shift, n - i);
    return;
  }
  for (; i + 16 <= n; i += 16) {
    const f32x16 e = vexp(load(x + i) - top);
    store(y + i, e);
    total += e;
  }
  if (i < n) {
    const f32x16 e = vexp(load_first(x + i, n - i) - top);
    store_first(y + i, e, n - i);
    total += first_lanes(e, n - i);
  }
  const f32x16 factor = splat(1.0f / sum(total));
  for (i = 0; i + 16 <= n; i += 16) store(y + i, load(y + i) * factor);
  if (i < n) store_first(y + i, load_first(y + i, n - i) * factor, n - i);
}

// Calls f(i, lanes) for the vectors of a row.
template <class F>
POPRT_INLINE void each_vector(int64_t n, F f) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) f(i, int64_t{16});
  if (i < n) f(i, n - i);
}

void softmax_rows(float* y, const float* x, int64_t rows, int64_t n, bool log) noexcept {
  each_group(y, x, rows, n, [&](int64_t, int64_t count, float** to, const float** from) {
    f32x16 lanes[kJoinedRows];
    float top[kJoinedRows], last[kJoinedRows];
    each_joined(lanes, count, [&](int64_t r) { return lane_maxima(from[r], n); });
    store(top, join_rows(lanes, [](f32x16 a, f32x16 b) { return vmax(b, a); }));
    each_joined(lanes, count, [&](int64_t r) {
      const f32x16 shift = splat(top[r]);
      f32x16 total = zero();
      each_vector(n, [&](int64_t i, int64_t l) {
        const f32x16 e = vexp(load_first(from[r] + i, l) - shift);
        if (!log) store_first(to[r] + i, e, l);
        total += l == 16 ? e : first_lanes(e, l);
      });
      return total;
    });
    const f32x16 sums = join_rows(lanes, plus);
    store(last, log ? vlog(sums) : 1.0f / sums);
    for (int64_t r = 0; r < count; r++) {
      const f32x16 a = splat(top[r]), b = splat(last[r]);
      each_vector(n, [&](int64_t i, int64_t l) {
        const f32x16 v = log ? load_first(from[r] + i, l) - a - b : load_first(to[r] + i, l) * b;
        store_first(to[r] + i, v, l);
      });
    }
  });
}

void softmax_columns(float* y, const float* x, int64_t n, int64_t stride, int64_t columns,
                     bool log) noexcept {
  f32x16 top = splat(-__builtin_inff());
  for (int64_t i = 0; i < n; i++) top = vmax(load_first(x + i * stride, columns), top);
  f32x16 total = zero();
  for (int64_t i = 0; i < n; i++) {
    const f32x16 e = vexp(load_first(x + i * stride, columns) - top);
    if (!log) store_first(y + i * stride, e, columns);
    total += e;
  }
  if (log) {
    const f32x16 shift = vlog(total);
    for (int64_t i = 0; i < n; i++)
      store_first(y + i * stride, load_first(x + i * stride, columns) - top - shift, columns);
    return;
  }
  const f32x16 factor = 1.0f / total;
  for (int64_t i = 0; i < n; i++)
    store_first(y + i * stride, load_first(y + i * stride, columns) * factor, columns);
}

void normalize_row(float* y, const float* x, int64_t n, const float* scale, const float* bias,
                   int64_t run, float epsilon, bool rms, float* mean, float* inverse) noexcept {
  const auto count = static_cast<float>(n);
  const float m = rms ? 0.0f : sum(lane_sums(x, n, same, plus)) / count;
  const f32x16 center = splat(m);
  // A second pass over the row, which is in the L1 cache, keeps the variance accurate if the mean
  // is large.
  const float spread =
      sum(lane_sums(x, n, [&](f32x16 v) { return v - center; }, plus_square)) / count;
  const float inv = 1.0f / __builtin_sqrtf(spread + epsilon);
  if (mean) *mean = m;
  if (inverse) *inverse = inv;
  const f32x16 factor = splat(inv);
  if (run == 1 && (scale || bias)) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
      store(y + i, scaled(load(x + i) - center, factor, scale, bias, i, 16));
    if (i < n)
      store_first(y + i, scaled(load_first(x + i, n - i) - center, factor, scale, bias, i, n - i),
                  n - i);
    return;
  }
  if (!scale && !bias) run = n;
  for (int64_t from = 0, k = 0; from < n; from += run, k++) {
    const f32x16 a = splat(scale ? inv * scale[k] : inv), b = splat(bias ? bias[k] : 0.0f);
    const int64_t end = from + run < n ? from + run : n;
    int64_t i = from;
    for (; i + 16 <= end; i += 16) store(y + i, fma(load(x + i) - center, a, b));
    if (i < end) store_first(y + i, fma(load_first(x + i, end - i) - center, a, b), end - i);
  }
}

void normalize_rows(float* y, const float* x, int64_t rows, int64_t n, const float* scale,
                    const float* bias, float epsilon, bool rms, float* mean,
                    float* inverse) noexcept {
  const auto size = static_cast<float>(n);
  each_group(y, x, rows, n, [&](int64_t first, int64_t count, float** to, const float** from) {
    f32x16 lanes[kJoinedRows];
    float m[kJoinedRows] = {}, inv[kJoinedRows];
    if (!rms) {
      each_joined(lanes, count, [&](int64_t r) { return lane_sums(from[r], n, same, plus); });
      store(m, join_rows(lanes, plus) / size);
    }
    each_joined(lanes, count, [&](int64_t r) {
      const f32x16 center = splat(m[r]);
      return lane_sums(from[r], n, [&](f32x16 v) { return v - center; }, plus_square);
    });
    store(inv, 1.0f / vsqrt(join_rows(lanes, plus) / size + epsilon));
    if (mean) store_first(mean + first, load(m), count);
    if (inverse) store_first(inverse + first, load(inv), count);
    for (int64_t r = 0; r < count; r++) {
      const f32x16 center = splat(m[r]), factor = splat(inv[r]);
      each_vector(n, [&](int64_t i, int64_t l) {
        store_first(to[r] + i,
                    scaled(load_first(from[r] + i, l) - center, factor, scale, bias, i, l), l);
      });
    }
  });
}

void scale_shift(float* y, const float* x, int64_t n, float scale, float shift) noexcept {
  const f32x16 a = splat(scale), b = splat(shift);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, fma(load(x + i), a, b));
  if (i < n) store_first(y + i, fma(load_first(x + i, n - i), a, b), n - i);
}

}  // namespace

extern const NormalizeTable POPRT_ISA_NAME(normalize);
const NormalizeTable POPRT_ISA_NAME(normalize) = {softmax_row,   softmax_rows,   softmax_columns,
                                                  normalize_row, normalize_rows, scale_shift};

}  // namespace poprt::kernels::isa
