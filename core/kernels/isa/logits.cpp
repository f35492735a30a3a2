#include "kernels/isa/logits.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

constexpr float kNone = -__builtin_inff();

// The next 16 floats at i. After the end, lanes are -inf.
POPRT_INLINE f32x16 lanes_at(const float* x, int64_t i, int64_t n) {
  if (i + 16 <= n) return load(x + i);
  float tail[16];
  for (int64_t lane = 0; lane < 16; lane++) tail[lane] = i + lane < n ? x[i + lane] : kNone;
  return load(tail);
}

POPRT_INLINE bool any(i32x16 mask) {
  int32_t lanes[16], found = 0;
  __builtin_memcpy(lanes, &mask, sizeof lanes);
  for (const int32_t lane : lanes) found |= lane;
  return found != 0;
}

// The first index at which `is` has a lane that is set; one must be set.
template <class F>
POPRT_INLINE int64_t first_that(const float* x, int64_t n, F is) {
  for (int64_t i = 0;; i += 16) {
    const i32x16 found = is(lanes_at(x, i, n));
    if (!any(found)) continue;
    for (int64_t lane = 0;; lane++)
      if (found[lane]) return i + lane;
  }
}

// Four accumulators hide the latency of the comparisons.
int64_t greatest(const float* x, int64_t n) noexcept {
  f32x16 most[4];
  i32x16 unordered{};
  for (auto& m : most) m = splat(kNone);
  const auto look = [&](f32x16 v, f32x16& m) {
    m = vmax(v, m);
    unordered |= is_nan(v);
  };
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int64_t k = 0; k < 4; k++) look(load(x + i + 16 * k), most[k]);
  for (; i < n; i += 16) look(lanes_at(x, i, n), most[0]);
  if (any(unordered)) return -1 - first_that(x, n, [](f32x16 v) { return is_nan(v); });
  const f32x16 top = splat(max_lane(vmax(vmax(most[0], most[1]), vmax(most[2], most[3]))));
  return first_that(x, n, [&](f32x16 v) -> i32x16 { return v == top; });
}

double sum_of_exp(const float* x, int64_t n, float most) noexcept {
  constexpr int64_t kBlock = 256;
  double total = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t end = i + kBlock < n ? i + kBlock : n;
    f32x16 part = zero();
    for (int64_t j = i; j < end; j += 16) part += vexp(lanes_at(x, j, n) - most);
    total += static_cast<double>(sum(part));
  }
  return total;
}

}  // namespace

extern const LogitsTable POPRT_ISA_NAME(logits);
const LogitsTable POPRT_ISA_NAME(logits) = {greatest, sum_of_exp};

}  // namespace poprt::kernels::isa
