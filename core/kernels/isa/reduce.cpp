#include "kernels/isa/reduce.h"

#include "kernels/common/reduction.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE f32x16 nan_max(f32x16 a, f32x16 b) { return ((a > b) | is_nan(a)) ? a : b; }
POPRT_INLINE f32x16 nan_min(f32x16 a, f32x16 b) { return ((a < b) | is_nan(a)) ? a : b; }

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

template <class Take, class Join>
POPRT_INLINE f32x16 fold_columns(const float* x, int64_t n, int64_t stride, int64_t columns,
                                 float start, Take take, Join join) {
  f32x16 s = splat(start);
  for (int64_t i = 0; i < n; i++) s = join(s, take(load_first(x + i * stride, columns)));
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

void columns(int64_t code, float* y, const float* x, int64_t n, int64_t stride,
             int64_t count) noexcept {
  const auto kind = static_cast<Reduction>(code);
  const auto fold = [&](float start, auto take, auto join) {
    return fold_columns(x, n, stride, count, start, take, join);
  };
  if (kind == Reduction::log_sum_exp) {
    const f32x16 top = finite_or_zero(dispatch(Reduction::max, fold));
    const f32x16 total = fold(
        0.0f, [&](f32x16 v) { return vexp(v - top); }, [](f32x16 a, f32x16 b) { return a + b; });
    store_first(y, vlog(total) + top, count);
    return;
  }
  store_first(y, finish(kind, dispatch(kind, fold), n), count);
}

}  // namespace

extern const ReduceTable POPRT_ISA_NAME(reduce);
const ReduceTable POPRT_ISA_NAME(reduce) = {row, columns};

}  // namespace poprt::kernels::isa
