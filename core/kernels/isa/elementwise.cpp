#include "kernels/isa/elementwise.h"

#include "kernels/common/elementwise.h"
#include "kernels/isa/activation.h"
#include "kernels/isa/convert.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/trigonometry.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE f32x16 truth(i32x16 mask) { return mask ? splat(1.0f) : zero(); }

// An operand: contiguous floats, or sixteen equal floats that represent all elements.
struct From {
  const float* first;
  int64_t mask;  // -1 or 0
  POPRT_INLINE const float* operator+(int64_t i) const { return first + (i & mask); }
  POPRT_INLINE float operator[](int64_t i) const { return first[i & mask]; }
};

#if defined(__SSE2__)
POPRT_INLINE void store_past_caches(float* to, f32x16 v) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, reinterpret_cast<__m512>(v));
#else
  float t[16];
  store(t, v);
  for (int i = 0; i < 16; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(t + i));
#endif
}
void finish_stream() noexcept { _mm_sfence(); }
#else
POPRT_INLINE void store_past_caches(float* to, f32x16 v) { store(to, v); }
void finish_stream() noexcept {}
#endif

// `out` starts at a cache line. The remainder of n after whole vectors is stored normally.
template <class F>
POPRT_INLINE void stream(float* out, From a, From b, int64_t n, F f) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store_past_caches(out + i, f(load(a + i), load(b + i)));
  if (i < n) store_first(out + i, f(load_first(a + i, n - i), load_first(b + i, n - i)), n - i);
}

// Performs operations that are limited by memory bandwidth. Returns false for other operations.
bool stream_step(int64_t code, float* o, From a, From b, int64_t n) {
  using V = f32x16;
  using Op = ElementwiseOp;
  switch (static_cast<Op>(code)) {
    case Op::neg: stream(o, a, a, n, [](V x, V) { return -x; }); return true;
    case Op::abs: stream(o, a, a, n, [](V x, V) { return vabs(x); }); return true;
    case Op::relu: stream(o, a, a, n, [](V x, V) { return ActRelu{}(x); }); return true;
    case Op::add: stream(o, a, b, n, [](V x, V y) { return x + y; }); return true;
    case Op::sub: stream(o, a, b, n, [](V x, V y) { return x - y; }); return true;
    case Op::mul: stream(o, a, b, n, [](V x, V y) { return x * y; }); return true;
    default: return false;
  }
}

template <class F>
POPRT_INLINE void map1(float* out, From a, int64_t n, F f) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(out + i, f(load(a + i)));
  if (i < n) store_first(out + i, f(load_first(a + i, n - i)), n - i);
}
template <class F>
POPRT_INLINE void map2(float* out, From a, From b, int64_t n, F f) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(out + i, f(load(a + i), load(b + i)));
  if (i < n) store_first(out + i, f(load_first(a + i, n - i), load_first(b + i, n - i)), n - i);
}
template <class F>
POPRT_INLINE void map3(float* out, From a, From b, From c, int64_t n, F f) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(out + i, f(load(a + i), load(b + i), load(c + i)));
  if (i < n)
    store_first(out + i,
                f(load_first(a + i, n - i), load_first(b + i, n - i), load_first(c + i, n - i)),
                n - i);
}
// Rare functions call the C library for each lane.
template <class F>
POPRT_INLINE void lanes1(float* out, From a, int64_t n, F f) {
  for (int64_t i = 0; i < n; i++) out[i] = f(a[i]);
}
template <class F>
POPRT_INLINE void lanes2(float* out, From a, From b, int64_t n, F f) {
  for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i]);
}

// Large angles, infinities and NaN use the C library.
template <class F, class G>
POPRT_INLINE void angles(float* out, From a, int64_t n, F f, G library) {
  for (int64_t i = 0; i < n; i += 16) {
    const int64_t l = n - i < 16 ? n - i : 16;
    const f32x16 x = load_first(a + i, l);
    if (any(~(vabs(x) <= kLargestAngle))) {
      for (int64_t k = 0; k < l; k++) out[i + k] = library(a[i + k]);
    } else {
      store_first(out + i, f(x), l);
    }
  }
}

POPRT_INLINE f32x16 round_to_f16(f32x16 x) {
  uint16_t t[16];
  store_u16(t, to_f16_bits(x));
  return load_f16(t);
}
POPRT_INLINE f32x16 round_to_bf16(f32x16 x) {
  uint16_t t[16];
  store_u16(t, to_bf16_bits(x));
  return load_bf16(t);
}

// One case for each operation, grouped by the number of operands.
void step1(ElementwiseOp op, float* o, From a, int64_t n) noexcept {
  using V = f32x16;
  using Op = ElementwiseOp;
  switch (op) {
    case Op::copy: return map1(o, a, n, [](V x) { return x; });
    case Op::neg: return map1(o, a, n, [](V x) { return -x; });
    case Op::abs: return map1(o, a, n, [](V x) { return vabs(x); });
    case Op::sign:
      return map1(o, a, n, [](V x) {
        return x > 0.0f ? splat(1.0f) : (x < 0.0f ? splat(-1.0f) : (is_nan(x) ? x : zero()));
      });
    case Op::reciprocal: return map1(o, a, n, [](V x) { return 1.0f / x; });
    case Op::sqrt: return map1(o, a, n, [](V x) { return vsqrt(x); });
    case Op::exp: return map1(o, a, n, [](V x) { return vexp(x); });
    case Op::log: return map1(o, a, n, [](V x) { return vlog(x); });
    case Op::erf: return map1(o, a, n, [](V x) { return verf(x); });
    case Op::tanh: return map1(o, a, n, [](V x) { return vtanh(x); });
    case Op::sigmoid: return map1(o, a, n, [](V x) { return vsigmoid(x); });
    case Op::relu: return map1(o, a, n, ActRelu{});
    case Op::softplus: return map1(o, a, n, [](V x) { return vsoftplus(x); });
    case Op::softsign: return map1(o, a, n, [](V x) { return x / (vabs(x) + 1.0f); });
    case Op::hard_swish: return map1(o, a, n, ActHardSwish{});
    case Op::mish: return map1(o, a, n, [](V x) { return x * vtanh(vsoftplus(x)); });
    case Op::gelu_erf: return map1(o, a, n, ActGeluErf{});
    case Op::gelu_tanh: return map1(o, a, n, ActGeluTanh{});
    case Op::square: return map1(o, a, n, [](V x) { return x * x; });
    case Op::cube: return map1(o, a, n, [](V x) { return x * x * x; });
    case Op::ceil: return map1(o, a, n, [](V x) { return vceil(x); });
    case Op::floor: return map1(o, a, n, [](V x) { return vfloor(x); });
    case Op::round: return map1(o, a, n, [](V x) { return vround(x); });
    case Op::sin:
      return angles(
          o, a, n, [](V x) { return vsin(x); }, [](float x) { return __builtin_sinf(x); });
    case Op::cos:
      return angles(
          o, a, n, [](V x) { return vcos(x); }, [](float x) { return __builtin_cosf(x); });
    case Op::tan:
      return angles(
          o, a, n, [](V x) { return vtan(x); }, [](float x) { return __builtin_tanf(x); });
    case Op::asin: return map1(o, a, n, [](V x) { return vasin(x); });
    case Op::acos: return map1(o, a, n, [](V x) { return vacos(x); });
    case Op::atan: return map1(o, a, n, [](V x) { return vatan(x); });
    case Op::sinh: return lanes1(o, a, n, [](float x) { return __builtin_sinhf(x); });
    case Op::cosh: return lanes1(o, a, n, [](float x) { return __builtin_coshf(x); });
    case Op::asinh: return lanes1(o, a, n, [](float x) { return __builtin_asinhf(x); });
    case Op::acosh: return lanes1(o, a, n, [](float x) { return __builtin_acoshf(x); });
    case Op::atanh: return lanes1(o, a, n, [](float x) { return __builtin_atanhf(x); });
    case Op::is_nan: return map1(o, a, n, [](V x) { return truth(is_nan(x)); });
    case Op::logical_not: return map1(o, a, n, [](V x) { return truth(x == 0.0f); });
    case Op::to_bool: return map1(o, a, n, [](V x) { return truth(x != 0.0f); });
    case Op::round_f16: return map1(o, a, n, [](V x) { return round_to_f16(x); });
    case Op::round_bf16: return map1(o, a, n, [](V x) { return round_to_bf16(x); });
    default: return;
  }
}

void step2(ElementwiseOp op, float* o, From a, From b, int64_t n) noexcept {
  using V = f32x16;
  using Op = ElementwiseOp;
  switch (op) {
    case Op::add: return map2(o, a, b, n, [](V x, V y) { return x + y; });
    case Op::sub: return map2(o, a, b, n, [](V x, V y) { return x - y; });
    case Op::mul: return map2(o, a, b, n, [](V x, V y) { return x * y; });
    case Op::div: return map2(o, a, b, n, [](V x, V y) { return x / y; });
    case Op::pow: return lanes2(o, a, b, n, [](float x, float y) { return __builtin_powf(x, y); });
    case Op::mod:
      return lanes2(o, a, b, n, [](float x, float y) {
        const float r = __builtin_fmodf(x, y);
        if (r == 0.0f) return __builtin_copysignf(r, y);
        return (r < 0.0f) != (y < 0.0f) ? r + y : r;
      });
    case Op::fmod:
      return lanes2(o, a, b, n, [](float x, float y) { return __builtin_fmodf(x, y); });
    case Op::min: return map2(o, a, b, n, [](V x, V y) { return ((x < y) | is_nan(x)) ? x : y; });
    case Op::max: return map2(o, a, b, n, [](V x, V y) { return ((x > y) | is_nan(x)) ? x : y; });
    case Op::prelu: return map2(o, a, b, n, [](V x, V y) { return x < 0.0f ? x * y : x; });
    case Op::elu: return map2(o, a, b, n, [](V x, V y) { return x < 0.0f ? vexpm1(x) * y : x; });
    case Op::celu:
      return map2(o, a, b, n, [](V x, V y) { return x < 0.0f ? vexpm1(x / y) * y : x; });
    case Op::thresholded: return map2(o, a, b, n, [](V x, V y) { return x > y ? x : zero(); });
    case Op::silu: return map2(o, a, b, n, [](V x, V y) { return x / (vexp(-(x * y)) + 1.0f); });
    case Op::logical_and:
      return map2(o, a, b, n, [](V x, V y) { return truth((x != 0.0f) & (y != 0.0f)); });
    case Op::logical_or:
      return map2(o, a, b, n, [](V x, V y) { return truth((x != 0.0f) | (y != 0.0f)); });
    case Op::logical_xor:
      return map2(o, a, b, n, [](V x, V y) { return truth((x != 0.0f) ^ (y != 0.0f)); });
    case Op::equal: return map2(o, a, b, n, [](V x, V y) { return truth(x == y); });
    case Op::greater: return map2(o, a, b, n, [](V x, V y) { return truth(x > y); });
    case Op::less: return map2(o, a, b, n, [](V x, V y) { return truth(x < y); });
    case Op::greater_equal: return map2(o, a, b, n, [](V x, V y) { return truth(x >= y); });
    case Op::less_equal: return map2(o, a, b, n, [](V x, V y) { return truth(x <= y); });
    default: return;
  }
}

void step3(ElementwiseOp op, float* o, From a, From b, From c, int64_t n) noexcept {
  using V = f32x16;
  using Op = ElementwiseOp;
  switch (op) {
    case Op::clip:
      return map3(o, a, b, c, n, [](V x, V lo, V hi) {
        const V y = lo > x ? lo : x;
        return hi < y ? hi : y;
      });
    case Op::where: return map3(o, a, b, c, n, [](V x, V y, V z) { return x != 0.0f ? y : z; });
    case Op::hard_sigmoid:
      return map3(o, a, b, c, n, [](V x, V y, V z) { return clamp(fma(x, y, z), 0.0f, 1.0f); });
    case Op::selu:
      return map3(o, a, b, c, n, [](V x, V y, V z) { return z * (x < 0.0f ? vexpm1(x) * y : x); });
    case Op::is_inf:
      return map3(o, a, b, c, n, [](V x, V y, V z) {
        const float inf = __builtin_inff();
        return truth(((x == -inf) & (y != 0.0f)) | ((x == inf) & (z != 0.0f)));
      });
    case Op::mul_add: return map3(o, a, b, c, n, [](V x, V y, V z) { return fma(x, y, z); });
    default: return;
  }
}

void step(int64_t code, float* o, const float* pa, const float* pb, const float* pc, int64_t n,
          uint32_t flags) noexcept {
  const From a{pa, flags & 1 ? 0 : -1}, b{pb, flags & 2 ? 0 : -1}, c{pc, flags & 4 ? 0 : -1};
  if (flags & kElementwiseStream && reinterpret_cast<uintptr_t>(o) % 64 == 0 &&
      stream_step(code, o, a, b, n))
    return;
  const auto op = static_cast<ElementwiseOp>(code);
  if (op < ElementwiseOp::add) return step1(op, o, a, n);
  if (op < ElementwiseOp::clip) return step2(op, o, a, b, n);
  step3(op, o, a, b, c, n);
}

template <class T>
POPRT_INLINE void widen(float* out, const void* from, int64_t n) {
  const T* p = static_cast<const T*>(from);
  for (int64_t i = 0; i < n; i++) out[i] = static_cast<float>(p[i]);
}

void load_block(int dtype, float* out, const void* from, int64_t n) noexcept {
  switch (dtype) {
    case 1: __builtin_memcpy(out, from, static_cast<size_t>(n) * 4); return;
    case 3:
    case 4: {
      const auto* p = static_cast<const uint16_t*>(from);
      const bool half = dtype == 3;
      int64_t i = 0;
      for (; i + 16 <= n; i += 16) store(out + i, half ? load_f16(p + i) : load_bf16(p + i));
      if (i < n) {
        uint16_t t[16] = {};
        __builtin_memcpy(t, p + i, static_cast<size_t>(n - i) * 2);
        store_first(out + i, half ? load_f16(t) : load_bf16(t), n - i);
      }
      return;
    }
    case 5: return widen<int8_t>(out, from, n);
    case 6: return widen<uint8_t>(out, from, n);
    case 9: return widen<int32_t>(out, from, n);
    case 11: return widen<int64_t>(out, from, n);
    case 13: {
      const auto* p = static_cast<const uint8_t*>(from);
      for (int64_t i = 0; i < n; i++) out[i] = p[i] ? 1.0f : 0.0f;
      return;
    }
    default: return;
  }
}

template <class T>
POPRT_INLINE void narrow_bytes(T* to, const float* from, int64_t n, float low) {
  typedef T V __attribute__((vector_size(16)));
  typedef V U __attribute__((aligned(1), may_alias));
  for (int64_t i = 0; i < n; i += 16) {
    const int64_t l = n - i < 16 ? n - i : 16;
    const f32x16 v = load_first(from + i, l);
    const V bytes = __builtin_convertvector(
        to_i32(vround(clamp(is_nan(v) ? zero() : v, low, low + 255.0f))), V);
    if (l == 16)
      *reinterpret_cast<U*>(to + i) = bytes;
    else
      for (int64_t k = 0; k < l; k++) to[i + k] = bytes[k];
  }
}

void store_block(int dtype, void* to, const float* from, int64_t n) noexcept {
  switch (dtype) {
    case 1: __builtin_memmove(to, from, static_cast<size_t>(n) * 4); return;
    case 3:
    case 4: {
      auto* p = static_cast<uint16_t*>(to);
      const bool half = dtype == 3;
      int64_t i = 0;
      for (; i + 16 <= n; i += 16)
        store_u16(p + i, half ? to_f16_bits(load(from + i)) : to_bf16_bits(load(from + i)));
      if (i < n) {
        uint16_t t[16];
        const f32x16 v = load_first(from + i, n - i);
        store_u16(t, half ? to_f16_bits(v) : to_bf16_bits(v));
        __builtin_memcpy(p + i, t, static_cast<size_t>(n - i) * 2);
      }
      return;
    }
    case 5: return narrow_bytes(static_cast<int8_t*>(to), from, n, -128.0f);
    case 6: return narrow_bytes(static_cast<uint8_t*>(to), from, n, 0.0f);
    case 13: {
      auto* p = static_cast<uint8_t*>(to);
      for (int64_t i = 0; i < n; i++) p[i] = from[i] != 0.0f;
      return;
    }
    default: return;
  }
}

void fill_block(float* out, float value, int64_t n) noexcept {
  for (int64_t i = 0; i < n; i++) out[i] = value;
}

void copy_rows(float* out, const float* from, int64_t step, bool same, int64_t rows,
               int64_t width) noexcept {
  for (int64_t r = 0; r < rows; r++, from += step, out += width) {
    int64_t i = 0;
    if (same) {
      const f32x16 v = splat(*from);
      for (; i + 16 <= width; i += 16) store(out + i, v);
      if (i < width) store_first(out + i, v, width - i);
    } else {
      for (; i + 16 <= width; i += 16) store(out + i, load(from + i));
      if (i < width) store_first(out + i, load_first(from + i, width - i), width - i);
    }
  }
}

}  // namespace

extern const ElementwiseTable POPRT_ISA_NAME(elementwise);
const ElementwiseTable POPRT_ISA_NAME(elementwise) = {step,        finish_stream, load_block,
                                                      store_block, fill_block,    copy_rows};

}  // namespace poprt::kernels::isa
