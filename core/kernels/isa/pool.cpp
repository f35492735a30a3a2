#include "kernels/isa/pool.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/tile.h"

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
POPRT_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

struct Max {
  static POPRT_INLINE f32x16 empty() { return splat(-__builtin_inff()); }
  // A NaN in either operand is kept.
  static POPRT_INLINE f32x16 join(f32x16 a, f32x16 b) { return ((a > b) | (a != a)) ? a : b; }
};
struct Sum {
  static POPRT_INLINE f32x16 empty() { return zero(); }
  static POPRT_INLINE f32x16 join(f32x16 a, f32x16 b) { return a + b; }
};

// The taps [first, end) of a window at `origin` that are inside [0, size).
struct Taps {
  int64_t first, end;
};
POPRT_INLINE Taps taps_inside(int64_t origin, int64_t dilation, int64_t kernel, int64_t size) {
  const int64_t first = origin >= 0 ? 0 : (-origin + dilation - 1) / dilation;
  const int64_t end = size - origin <= 0 ? 0 : (size - origin - 1) / dilation + 1;
  return {least(first, kernel), least(end, kernel)};
}

// Combines the rows of each window first, then the columns: kh + kw steps instead of kh * kw.
template <class Op>
void pool_rows(const PoolShape& s, const float* x, float* y, int64_t row0, int64_t row_end,
               float* columns) {
  for (int64_t oy = row0; oy < row_end; oy++) {
    const int64_t iy = oy * s.stride_h - s.pad_h;
    const Taps rows = taps_inside(iy, s.dilation_h, s.kh, s.h);
    for (int64_t i = 0; i < s.w; i++) {
      f32x16 v = Op::empty();
      for (int64_t ky = rows.first; ky < rows.end; ky++)
        v = Op::join(v, load(x + ((iy + ky * s.dilation_h) * s.w + i) * 16));
      store(columns + i * 16, v);
    }
    // The rows of the window that count if padding does: those inside the input and its padding.
    const Taps padded_rows =
        taps_inside(iy + s.pad_h, s.dilation_h, s.kh, s.h + s.pad_h + s.pad_h_end);
    for (int64_t ox = 0; ox < s.ow; ox++) {
      const int64_t ix = ox * s.stride_w - s.pad_w;
      const Taps cols = taps_inside(ix, s.dilation_w, s.kw, s.w);
      f32x16 v = Op::empty();
      for (int64_t kx = cols.first; kx < cols.end; kx++)
        v = Op::join(v, load(columns + (ix + kx * s.dilation_w) * 16));
      if (s.average) {
        const Taps padded_cols =
            taps_inside(ix + s.pad_w, s.dilation_w, s.kw, s.w + s.pad_w + s.pad_w_end);
        const int64_t count =
            s.count_padding
                ? (padded_rows.end - padded_rows.first) * (padded_cols.end - padded_cols.first)
                : most(0, rows.end - rows.first) * most(0, cols.end - cols.first);
        v = v / static_cast<float>(most(count, 1));
      }
      store(y + (oy * s.ow + ox) * 16, v);
    }
  }
}

void pool(const PoolShape& s, int64_t task_rows, const float* x, float* y, int64_t begin,
          int64_t end, float* scratch) noexcept {
  const int64_t row_tasks = (s.oh + task_rows - 1) / task_rows;
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / row_tasks, row0 = task % row_tasks * task_rows;
    (s.average ? pool_rows<Sum> : pool_rows<Max>)(s, x + plane * s.h * s.w * 16,
                                                  y + plane * s.oh * s.ow * 16, row0,
                                                  least(s.oh, row0 + task_rows), scratch);
  }
}

void global_average(int64_t pixels, int64_t channels, int64_t blocks, const float* x, float* y,
                    int64_t begin, int64_t end) noexcept {
  for (int64_t plane = begin; plane < end; plane++) {
    const float* from = x + plane * pixels * 16;
    f32x16 a = zero(), b = zero(), c = zero(), d = zero();
    int64_t p = 0;
    for (; p + 4 <= pixels; p += 4, from += 64) {
      a += load(from);
      b += load(from + 16);
      c += load(from + 32);
      d += load(from + 48);
    }
    for (; p < pixels; p++, from += 16) a += load(from);
    const int64_t image = plane / blocks, channel = plane % blocks * 16;
    store_first(y + image * channels + channel, ((a + b) + (c + d)) / static_cast<float>(pixels),
                least(16, channels - channel));
  }
}

POPRT_INLINE f32x16 interleave_low(f32x16 a, f32x16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
POPRT_INLINE f32x16 interleave_high(f32x16 a, f32x16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}

// Transposes 16 x 16 by four perfect shuffles of the rows.
POPRT_INLINE void transpose(f32x16 (&r)[16]) {
  POPRT_UNROLL for (int stage = 0; stage < 4; stage++) {
    f32x16 t[16];
    POPRT_UNROLL for (int i = 0; i < 8; i++) {
      t[2 * i] = interleave_low(r[i], r[i + 8]);
      t[2 * i + 1] = interleave_high(r[i], r[i + 8]);
    }
    POPRT_UNROLL for (int i = 0; i < 16; i++) r[i] = t[i];
  }
}

void block(const float* x, int64_t plane, int64_t count, int64_t pixels, float* y) noexcept {
  for (int64_t p = 0; p < pixels; p += 16) {
    const int64_t width = least(16, pixels - p);
    f32x16 r[16];
    if (count == 16 && width == 16) {
      POPRT_UNROLL for (int c = 0; c < 16; c++) r[c] = load(x + c * plane + p);
    } else {
      POPRT_UNROLL for (int c = 0; c < 16; c++) r[c] =
          c < count ? load_first(x + c * plane + p, width) : zero();
    }
    transpose(r);
    POPRT_UNROLL for (int i = 0; i < 16; i++) if (i < width) store(y + (p + i) * 16, r[i]);
  }
}

void unblock(const float* x, int64_t plane, int64_t count, int64_t pixels, float* y) noexcept {
  for (int64_t p = 0; p < pixels; p += 16) {
    const int64_t width = least(16, pixels - p);
    f32x16 r[16];
    POPRT_UNROLL for (int i = 0; i < 16; i++) r[i] = i < width ? load(x + (p + i) * 16) : zero();
    transpose(r);
    POPRT_UNROLL for (int c = 0; c < 16; c++) if (c < count)
        store_first(y + c * plane + p, r[c], width);
  }
}

template <class V, class T>
POPRT_INLINE void max_of(T lowest, bool first, T* to, const uint8_t* const* from, int64_t pieces,
                         int64_t n) {
  constexpr int64_t kLanes = sizeof(V);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    V v = V{} + lowest, x;
    if (!first) __builtin_memcpy(&v, to + i, sizeof v);
    for (int64_t p = 0; p < pieces; p++) {
      __builtin_memcpy(&x, from[p] + i, sizeof x);
      v = x > v ? x : v;
    }
    __builtin_memcpy(to + i, &v, sizeof v);
  }
  for (; i < n; i++) {
    T v = first ? lowest : to[i];
    for (int64_t p = 0; p < pieces; p++) {
      const T x = static_cast<T>(from[p][i]);
      v = x > v ? x : v;
    }
    to[i] = v;
  }
}

using u8x32 = uint8_t __attribute__((vector_size(32)));
using s8x32 = int8_t __attribute__((vector_size(32)));

void max_bytes(bool is_signed, bool first, uint8_t* to, const uint8_t* const* from, int64_t pieces,
               int64_t n) noexcept {
  if (is_signed)
    max_of<s8x32>(int8_t{-128}, first, reinterpret_cast<int8_t*>(to), from, pieces, n);
  else
    max_of<u8x32>(uint8_t{0}, first, to, from, pieces, n);
}

}  // namespace

extern const PoolTable POPRT_ISA_NAME(pool);
const PoolTable POPRT_ISA_NAME(pool) = {isa::pool, isa::global_average, isa::block, isa::unblock,
                                        isa::max_bytes};

}  // namespace poprt::kernels::isa
