#include "kernels/isa/pool_plane.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/math.h"

namespace poprt::kernels::isa {
namespace {

// start() is the neutral element, take() the contribution of an input; join() combines two,
// finish(sum, count) computes the result.
struct Max {
  static POPRT_INLINE float start() { return -__builtin_inff(); }
  static POPRT_INLINE f32x16 take(f32x16 v) { return v; }
  static POPRT_INLINE f32x16 join(f32x16 a, f32x16 v) { return ((v > a) | is_nan(v)) ? v : a; }
  static POPRT_INLINE f32x16 finish(f32x16 v, f32x16) { return v; }
};
struct Average {
  static POPRT_INLINE float start() { return 0; }
  static POPRT_INLINE f32x16 take(f32x16 v) { return v; }
  static POPRT_INLINE f32x16 join(f32x16 a, f32x16 v) { return a + v; }
  static POPRT_INLINE f32x16 finish(f32x16 v, f32x16 count) { return v / count; }
};
struct L1 : Average {
  static POPRT_INLINE f32x16 take(f32x16 v) { return vabs(v); }
  static POPRT_INLINE f32x16 finish(f32x16 v, f32x16) { return v; }
};
struct L2 : Average {
  static POPRT_INLINE f32x16 take(f32x16 v) { return v * v; }
  static POPRT_INLINE f32x16 finish(f32x16 v, f32x16) { return vsqrt(v); }
};

struct Taps {
  int64_t first, end;
};
POPRT_INLINE Taps taps_inside(const PlaneAxis& a, int64_t out) {
  const int64_t origin = out * a.stride - a.pad;
  const auto below = [&](int64_t limit) {
    const int64_t k = (limit - origin + a.dilation - 1) / a.dilation;
    return k < 0 ? 0 : k > a.kernel ? a.kernel : k;
  };
  Taps t{below(0), below(a.in)};
  if (t.end < t.first) t.end = t.first;
  return t;
}

POPRT_INLINE f32x16 every_second(const float* p) {
  return __builtin_shufflevector(load(p), load(p + 16), 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
                                 24, 26, 28, 30);
}

// Processes the windows along x of one row that is already padded.
template <class Kind, int kStride>
POPRT_INLINE void windows(const PlaneAxis& a, const float* row, const float* counts, float count,
                          float* y) {
  for (int64_t o = 0; o < a.out; o += 16) {
    f32x16 v = splat(Kind::start());
    for (int64_t k = 0; k < a.kernel; k++) {
      const float* from = row + o * a.stride + k * a.dilation;
      if constexpr (kStride == 1) {
        v = Kind::join(v, load(from));
      } else if constexpr (kStride == 2) {
        v = Kind::join(v, every_second(from));
      } else {
        f32x16 t;
        for (int i = 0; i < 16; i++) t[i] = from[i * a.stride];
        v = Kind::join(v, t);
      }
    }
    const int64_t n = a.out - o < 16 ? a.out - o : 16;
    f32x16 c = splat(count);
    if (counts) c = c * load_first(counts + o, n);
    store_first(y + o, Kind::finish(v, c), n);
  }
}

template <class Kind>
void pool(const PlanePool& p, const float* x, float* y, float* scratch) {
  const PlaneAxis &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
  const auto length = static_cast<int64_t>(plane_pool_scratch(ax));
  for (int64_t i = 0; i < length; i++) scratch[i] = Kind::start();
  float* row = scratch + ax.pad;
  for (int64_t oz = 0; oz < az.out; oz++) {
    const Taps tz = taps_inside(az, oz);
    for (int64_t oy = 0; oy < ay.out; oy++, y += ax.out) {
      const Taps ty = taps_inside(ay, oy);
      const int64_t rows = (tz.end - tz.first) * (ty.end - ty.first);
      const float* from[64];
      int64_t found = 0;
      bool first = true;
      // At most 64 rows at a time are combined to one.
      const auto join_rows = [&] {
        int64_t i = 0;
        for (; i + 16 <= ax.in; i += 16) {
          f32x16 v = first ? splat(Kind::start()) : load(row + i);
          for (int64_t r = 0; r < found; r++) v = Kind::join(v, Kind::take(load(from[r] + i)));
          store(row + i, v);
        }
        if (const int64_t n = ax.in - i) {
          f32x16 v = first ? splat(Kind::start()) : load_first(row + i, n);
          for (int64_t r = 0; r < found; r++)
            v = Kind::join(v, Kind::take(load_first(from[r] + i, n)));
          store_first(row + i, v, n);
        }
        first = false;
        found = 0;
      };
      for (int64_t kz = tz.first; kz < tz.end; kz++)
        for (int64_t ky = ty.first; ky < ty.end; ky++) {
          const int64_t iz = oz * az.stride - az.pad + kz * az.dilation;
          const int64_t iy = oy * ay.stride - ay.pad + ky * ay.dilation;
          from[found++] = x + (iz * ay.in + iy) * ax.in;
          if (found == 64) join_rows();
        }
      if (found || rows <= 0) join_rows();
      const float count = p.counts[0] ? p.counts[0][oz] * p.counts[1][oy] : 1.0f;
      if (ax.stride == 1)
        windows<Kind, 1>(ax, scratch, p.counts[2], count, y);
      else if (ax.stride == 2)
        windows<Kind, 2>(ax, scratch, p.counts[2], count, y);
      else
        windows<Kind, 0>(ax, scratch, p.counts[2], count, y);
    }
  }
}

void plane(const PlanePool& p, const float* x, float* y, float* scratch) noexcept {
  switch (p.kind) {
    case PlanePooling::max: return pool<Max>(p, x, y, scratch);
    case PlanePooling::average: return pool<Average>(p, x, y, scratch);
    case PlanePooling::l1: return pool<L1>(p, x, y, scratch);
    case PlanePooling::l2: return pool<L2>(p, x, y, scratch);
  }
}

}  // namespace

extern const PlanePoolTable POPRT_ISA_NAME(pool_plane);
const PlanePoolTable POPRT_ISA_NAME(pool_plane) = {plane};

}  // namespace poprt::kernels::isa
