#include "kernels/isa/reduce.h"

#include "kernels/common/reduction.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/join_rows.h"
#include "kernels/isa/math.h"
#include "kernels/isa/rounded.h"

namespace poprt::kernels::isa {
namespace {

constexpr auto nan_max = [](f32x16 a, f32x16 b) { return ((a > b) | is_nan(a)) ? a : b; };
constexpr auto nan_min = [](f32x16 a, f32x16 b) { return ((a < b) | is_nan(a)) ? a : b; };

// Four independent accumulators, combined in a fixed order; lanes after the row are `start`.
template <class Take, class Join>
POPRT_INLINE f32x16 fold_lanes(const float* x, int64_t n, float start, Take take, Join join) {
  f32x16 s[4] = {splat(start), splat(start), splat(start), splat(start)};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int k = 0; k < 4; k++) s[k] = join(s[k], take(load(x + i + 16 * k)));
  for (; i + 16 <= n; i += 16) s[0] = join(s[0], take(load(x + i)));
  if (i < n) {
    i32x16 lane;
    for (int l = 0; l < 16; l++) lane[l] = l;
    const f32x16 rest = take(load_first(x + i, n - i));
    s[1] = join(s[1], lane < isplat(static_cast<int32_t>(n - i)) ? rest : splat(start));
  }
  return join(join(s[0], s[1]), join(s[2], s[3]));
}
template <class Take, class Join>
POPRT_INLINE float fold_row(const float* x, int64_t n, float start, Take take, Join join) {
  f32x16 t = fold_lanes(x, n, start, take, join);
  for (int step = 8; step; step /= 2) {
    f32x16 other = splat(start);
    for (int k = 0; k < step; k++) other[k] = t[k + step];
    t = join(t, other);
  }
  return t[0];
}
// The same for up to sixteen rows; take(v, r) receives the row.
template <class Take, class Join>
POPRT_INLINE f32x16 fold_rows(const float* const* x, int64_t rows, int64_t n, float start,
                              Take take, Join join) {
  f32x16 lanes[kJoinedRows];
  each_joined(lanes, rows, [&](int64_t r) {
    return fold_lanes(x[r], n, start, [&](f32x16 v) { return take(v, r); }, join);
  });
  return join_rows(lanes, join);
}

template <int kVectors>
struct Columns {
  f32x16 v[kVectors];
};

// Folds the columns of kVectors vectors, of which the last has `last` lanes.
template <int kVectors, class Take, class Join>
POPRT_INLINE Columns<kVectors> fold_columns(const float* x, int64_t n, int64_t stride, int64_t last,
                                            float start, Take take, Join join) {
  Columns<kVectors> s;
  for (int k = 0; k < kVectors; k++) s.v[k] = splat(start);
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k + 1 < kVectors; k++)
      s.v[k] = join(s.v[k], take(load(x + i * stride + 16 * k), k));
    constexpr int k = kVectors - 1;
    s.v[k] = join(s.v[k], take(load_first(x + i * stride + 16 * k, last), k));
  }
  return s;
}

// Calls fold(start, take, join) for the plain kinds; finish() does the remaining part.
template <class Fold>
POPRT_INLINE auto dispatch(Reduction kind, Fold fold) {
  const float inf = __builtin_inff();
  const auto same = [](f32x16 v) { return v; };
  const auto plus = [](f32x16 a, f32x16 b) { return a + b; };
  switch (kind) {
    case Reduction::max: return fold(-inf, same, nan_max);
    case Reduction::min: return fold(inf, same, nan_min);
    case Reduction::prod: return fold(1.0f, same, [](f32x16 a, f32x16 b) { return a * b; });
    case Reduction::l1: return fold(0.0f, [](f32x16 v) { return vabs(v); }, plus);
    case Reduction::l2:
    // The first square of a lane is added to 0, an addition that the compiler removes. It may then
    // fuse the square with the addition of another lane, in some of the loops that use this, so the
    // square is rounded first.
    case Reduction::sum_square: return fold(0.0f, [](f32x16 v) { return rounded(v * v); }, plus);
    default: return fold(0.0f, same, plus);
  }
}

POPRT_INLINE f32x16 finish(Reduction kind, f32x16 v, int64_t n) {
  switch (kind) {
    case Reduction::mean: return v / static_cast<float>(n);
    case Reduction::l2: return vsqrt(v);
    case Reduction::log_sum: return vlog(v);
    default: return v;
  }
}

// Subtracting an infinite maximum would produce NaN instead of an infinite result.
POPRT_INLINE f32x16 finite_or_zero(f32x16 v) { return vabs(v) < __builtin_inff() ? v : zero(); }

float row(int64_t code, const float* x, int64_t n) noexcept {
  const auto kind = static_cast<Reduction>(code);
  const auto fold = [&](float start, auto take, auto join) {
    return fold_row(x, n, start, take, join);
  };
  if (kind == Reduction::log_sum_exp) {
    const f32x16 top = finite_or_zero(splat(dispatch(Reduction::max, fold)));
    const float total = fold(
        0.0f, [&](f32x16 v) { return vexp(v - top); }, [](f32x16 a, f32x16 b) { return a + b; });
    return (vlog(splat(total)) + top)[0];
  }
  return finish(kind, splat(dispatch(kind, fold)), n)[0];
}

// Folds sixteen adjacent rows, each to one lane of the result; each vector contains kRows rows.
template <int kRows, class Take, class Join>
POPRT_INLINE f32x16 fold_packed(const float* x, float start, Take take, Join join) {
  f32x16 lanes[kJoinedRows / kRows];
  for (int i = 0; i < kJoinedRows / kRows; i++)
    lanes[i] = join(splat(start), take(load(x + 16 * i)));
  return join_rows<kRows>(lanes, join);
}

// Calls f(first, left, from) for groups of up to sixteen rows.
template <class F>
POPRT_INLINE void each_group(const float* x, int64_t count, int64_t n, F f) {
  for (int64_t first = 0; first < count; first += kJoinedRows) {
    const int64_t left = count - first < kJoinedRows ? count - first : kJoinedRows;
    const float* from[kJoinedRows];
    for (int64_t r = 0; r < left; r++) from[r] = x + (first + r) * n;
    f(first, left, from);
  }
}

void rows(int64_t code, float* y, const float* x, int64_t count, int64_t n) noexcept {
  const auto kind = static_cast<Reduction>(code);
  each_group(x, count, n, [&](int64_t first, int64_t left, const float* const* from) {
    const auto fold = [&](float start, auto take, auto join) {
      if (left == kJoinedRows && n == 8) return fold_packed<2>(from[0], start, take, join);
      if (left == kJoinedRows && n == 4) return fold_packed<4>(from[0], start, take, join);
      if (left == kJoinedRows && n == 2) return fold_packed<8>(from[0], start, take, join);
      return fold_rows(from, left, n, start, [&](f32x16 v, int64_t) { return take(v); }, join);
    };
    f32x16 result;
    if (kind == Reduction::log_sum_exp) {
      const f32x16 tops = finite_or_zero(dispatch(Reduction::max, fold));
      float top[kJoinedRows];
      store(top, tops);
      const auto plus = [](f32x16 a, f32x16 b) { return a + b; };
      const auto term = [&](f32x16 v, int64_t r) { return vexp(v - splat(top[r])); };
      result = vlog(fold_rows(from, left, n, 0.0f, term, plus)) + tops;
    } else {
      result = finish(kind, dispatch(kind, fold), n);
    }
    store_first(y + first, result, left);
  });
}

template <bool kSmallest, bool kLast>
void arg_rows_of(int64_t* y, const float* x, int64_t count, int64_t n) {
  constexpr float kNowhere = kLast ? -1.0f : 0x1p25f;
  each_group(x, count, n, [&](int64_t first, int64_t left, const float* const* from) {
    float top[kJoinedRows], at[kJoinedRows];
    const auto same = [](f32x16 v, int64_t) { return v; };
    const float inf = __builtin_inff();
    store(top, kSmallest ? fold_rows(from, left, n, inf, same, nan_min)
                         : fold_rows(from, left, n, -inf, same, nan_max));
    f32x16 places[kJoinedRows];
    each_joined(places, left, [&](int64_t r) {
      f32x16 place{}, found = splat(kNowhere);
      for (int l = 0; l < 16; l++) place[l] = static_cast<float>(l);
      const float end = static_cast<float>(n);
      for (int64_t i = 0; i < n; i += 16, place += 16.0f) {
        const f32x16 v = n - i >= 16 ? load(from[r] + i) : load_first(from[r] + i, n - i);
        const i32x16 hit = (v == splat(top[r])) & (place < end);
        const f32x16 better = kLast ? vmax(place, found) : vmin(place, found);
        found = hit ? better : found;
      }
      return found;
    });
    store(at,
          join_rows(places, [](f32x16 a, f32x16 b) { return kLast ? vmax(a, b) : vmin(a, b); }));
    for (int64_t r = 0; r < left; r++)
      y[first + r] = at[r] < static_cast<float>(n) ? static_cast<int64_t>(at[r]) : -1;
  });
}

void arg_rows(bool smallest, bool last, int64_t* y, const float* x, int64_t count,
              int64_t n) noexcept {
  if (smallest)
    last ? arg_rows_of<true, true>(y, x, count, n) : arg_rows_of<true, false>(y, x, count, n);
  else
    last ? arg_rows_of<false, true>(y, x, count, n) : arg_rows_of<false, false>(y, x, count, n);
}

template <int kVectors>
POPRT_INLINE void some_columns(Reduction kind, float* y, const float* x, int64_t n, int64_t stride,
                               int64_t last) {
  const auto fold = [&](float start, auto take, auto join) {
    return fold_columns<kVectors>(
        x, n, stride, last, start, [&](f32x16 v, int) { return take(v); }, join);
  };
  const auto put = [&](int k, f32x16 v) {
    store_first(y + 16 * k, v, k + 1 < kVectors ? 16 : last);
  };
  if (kind == Reduction::log_sum_exp) {
    Columns<kVectors> top = dispatch(Reduction::max, fold);
    for (int k = 0; k < kVectors; k++) top.v[k] = finite_or_zero(top.v[k]);
    const auto total = fold_columns<kVectors>(
        x, n, stride, last, 0.0f, [&](f32x16 v, int k) { return vexp(v - top.v[k]); },
        [](f32x16 a, f32x16 b) { return a + b; });
    for (int k = 0; k < kVectors; k++) put(k, vlog(total.v[k]) + top.v[k]);
    return;
  }
  const auto s = dispatch(kind, fold);
  for (int k = 0; k < kVectors; k++) put(k, finish(kind, s.v[k], n));
}

void columns(int64_t code, float* y, const float* x, int64_t n, int64_t stride,
             int64_t count) noexcept {
  const auto kind = static_cast<Reduction>(code);
  if (count == 64) return some_columns<4>(kind, y, x, n, stride, 16);
  for (int64_t c = 0; c < count; c += 16)
    some_columns<1>(kind, y + c, x + c, n, stride, count - c < 16 ? count - c : 16);
}

void running(bool product, const float* x, double* total, float* __restrict y, int64_t n) noexcept {
  if (product)
    for (int64_t j = 0; j < n; j++)
      y[j] = static_cast<float>(total[j] *= static_cast<double>(x[j]));
  else
    for (int64_t j = 0; j < n; j++)
      y[j] = static_cast<float>(total[j] += static_cast<double>(x[j]));
}

}  // namespace

extern const ReduceTable POPRT_ISA_NAME(reduce);
const ReduceTable POPRT_ISA_NAME(reduce) = {row, rows, arg_rows, columns, running};

}  // namespace poprt::kernels::isa
