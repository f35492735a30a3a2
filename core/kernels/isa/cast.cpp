#include "kernels/isa/cast.h"

#include "kernels/isa/convert.h"
#include "kernels/isa/isa.h"

namespace poprt::kernels::isa {
namespace {

struct Bool {};

template <class T, class U>
inline constexpr bool same = false;
template <class T>
inline constexpr bool same<T, T> = true;
template <class T>
inline constexpr bool is_real = same<T, float> || same<T, double>;

template <class T>
struct Stored {
  using type = T;
};
template <>
struct Stored<Bool> {
  using type = uint8_t;
};

// Truncates. A number that does not fit becomes the most negative value, as on x86. An f64 may be a
// fraction below the least s32.
template <class R>
POPRT_INLINE int32_t whole32(R v) {
  const bool fits =
      (sizeof(R) == 8 ? v > static_cast<R>(-2147483649.0) : v >= static_cast<R>(-2147483648.0)) &
      (v < static_cast<R>(2147483648.0));
  const R safe = fits ? v : R{0};
  const auto w = static_cast<int32_t>(safe);
  return fits ? w : INT32_MIN;
}
template <class R>
POPRT_INLINE int64_t whole64(R v) {
  const bool fits = (v >= static_cast<R>(-0x1p63)) & (v < static_cast<R>(0x1p63));
  const R safe = fits ? v : R{0};
  const auto w = static_cast<int64_t>(safe);
  return fits ? w : INT64_MIN;
}

template <class From, class To>
POPRT_INLINE typename Stored<To>::type convert(typename Stored<From>::type v) {
  if constexpr (same<To, Bool>)
    return v != 0;
  else if constexpr (is_real<From> && !is_real<To> && (sizeof(To) == 8 || same<To, uint32_t>))
    return static_cast<To>(whole64(v));
  else if constexpr (is_real<From> && !is_real<To>)
    return static_cast<To>(whole32(v));
  else if constexpr (same<From, Bool>)
    return static_cast<To>(v != 0);
  else
    return static_cast<To>(v);
}

// The memory of a caller may have any alignment.
template <class T>
struct Loose {
  typedef typename Stored<T>::type type __attribute__((aligned(1), may_alias));
};

template <class From, class To>
void row(void* to, const void* from, int64_t n) noexcept {
  const auto* x = static_cast<const typename Loose<From>::type*>(from);
  auto* y = static_cast<typename Loose<To>::type*>(to);
  for (int64_t i = 0; i < n; i++) y[i] = convert<From, To>(x[i]);
}

void half_to_float(void* to, const void* from, int64_t n) noexcept {
  auto* y = static_cast<float*>(to);
  const auto* x = static_cast<const uint16_t*>(from);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, load_f16(x + i));
  if (i == n) return;
  uint16_t t[16] = {};
  __builtin_memcpy(t, x + i, static_cast<size_t>(n - i) * 2);
  store_first(y + i, load_f16(t), n - i);
}
void bfloat_to_float(void* to, const void* from, int64_t n) noexcept {
  auto* y = static_cast<float*>(to);
  const auto* x = static_cast<const uint16_t*>(from);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, load_bf16(x + i));
  if (i == n) return;
  uint16_t t[16] = {};
  __builtin_memcpy(t, x + i, static_cast<size_t>(n - i) * 2);
  store_first(y + i, load_bf16(t), n - i);
}
template <bool kBfloat>
void float_to_16(void* to, const void* from, int64_t n) noexcept {
  auto* y = static_cast<uint16_t*>(to);
  const auto* x = static_cast<const float*>(from);
  const auto narrow = [](f32x16 v) { return kBfloat ? to_bf16_bits(v) : to_f16_bits(v); };
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store_u16(y + i, narrow(load(x + i)));
  if (i == n) return;
  uint16_t t[16];
  store_u16(t, narrow(load_first(x + i, n - i)));
  __builtin_memcpy(y + i, t, static_cast<size_t>(n - i) * 2);
}

template <class From>
CastRow find_to(Number to) {
  switch (to) {
    case Number::f32: return row<From, float>;
    case Number::f64: return row<From, double>;
    case Number::s8: return row<From, int8_t>;
    case Number::u8: return row<From, uint8_t>;
    case Number::s16: return row<From, int16_t>;
    case Number::u16: return row<From, uint16_t>;
    case Number::s32: return row<From, int32_t>;
    case Number::u32: return row<From, uint32_t>;
    case Number::s64: return row<From, int64_t>;
    case Number::u64:  // numbers in the upper half of the range need a separate conversion
      if constexpr (is_real<From>)
        return nullptr;
      else
        return row<From, uint64_t>;
    case Number::boolean: return row<From, Bool>;
    case Number::f16:
      if constexpr (same<From, float>) return float_to_16<false>;
      return nullptr;
    case Number::bf16:
      if constexpr (same<From, float>) return float_to_16<true>;
      return nullptr;
  }
  return nullptr;
}

CastRow find(Number from, Number to) noexcept {
  switch (from) {
    case Number::f32: return find_to<float>(to);
    case Number::f64: return find_to<double>(to);
    case Number::s8: return find_to<int8_t>(to);
    case Number::u8: return find_to<uint8_t>(to);
    case Number::s16: return find_to<int16_t>(to);
    case Number::u16: return find_to<uint16_t>(to);
    case Number::s32: return find_to<int32_t>(to);
    case Number::u32: return find_to<uint32_t>(to);
    case Number::s64: return find_to<int64_t>(to);
    case Number::u64: return find_to<uint64_t>(to);
    case Number::boolean: return find_to<Bool>(to);
    case Number::f16: return to == Number::f32 ? half_to_float : nullptr;
    case Number::bf16: return to == Number::f32 ? bfloat_to_float : nullptr;
  }
  return nullptr;
}

}  // namespace

extern const CastTable POPRT_ISA_NAME(cast);
const CastTable POPRT_ISA_NAME(cast) = {find};

}  // namespace poprt::kernels::isa
