#include "kernels/isa/reduce.h"

#include "kernels/common/reduction.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

constexpr auto nan_max = [](f32x16 a, f32x16 b) { return ((a > b) | is_nan(a)) ? a : b; };
constexpr auto nan_min = [](f32x16 a, f32x16 b) { return ((a < b) | is_nan(a)) ? a : b; };

// Four independent accumulators, combined in a fixed order.
template <class Take, class Join>
POPRT_INLINE float fold_row(const float* x, int64_t n, float start, Take take, Join join) {
  f32x16 s[4] = {splat(start), splat(start), splat(start), splat(start)};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int k = 0; k < 4; k++) s[k] = join(s[k], take(load(x + i + 16 * k)));
  for (; i + 16 <= n; i += 16) s[0] = join(s[0], take(load(x + i)));
  f32x16 t = join(join(s[0], s[1]), join(s[2], s[3]));
  for (; i < n; i++) {  // each straggler joins one lane
    f32x16 v = splat(start);
    v[0] = take(splat(x[i]))[0];
    t = join(t, v);
  }
  for (int step = 8; step; step /= 2) {
    f32x16 other = splat(start);
    for (int k = 0; k < step; k++) other[k] = t[k + step];
    t = join(t, other);
  }
  return t[0];
}

template <int kVectors>
struct Columns {
  f32x16 v[kVectors];
};

// `last` lanes of the last vector.
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

// fold(start, take, join) for the plain kinds; what is left to do stands in finish().
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
    case Reduction::sum_square: return fold(0.0f, [](f32x16 v) { return v * v; }, plus);
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

// A shift by an infinite maximum would make NaN of a plain result.
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
const ReduceTable POPRT_ISA_NAME(reduce) = {row, columns, running};

}  // namespace poprt::kernels::isa
