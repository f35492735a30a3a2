// Arithmetic on untrusted sizes. The checked_ functions and align_up() throw an Error on overflow.
#pragma once

#include <cstdint>
#include <limits>

#include "base/error.h"

namespace poprt {

template <class T>
T checked_add(T a, T b, const char* what = "size") {
  T r;
  if (__builtin_add_overflow(a, b, &r))
    fail(ErrorCode::out_of_range, "{}: {} + {} overflows", what, a, b);
  return r;
}

template <class T>
T checked_mul(T a, T b, const char* what = "size") {
  T r;
  if (__builtin_mul_overflow(a, b, &r))
    fail(ErrorCode::out_of_range, "{}: {} * {} overflows", what, a, b);
  return r;
}

// Rounds towards zero. Returns the nearest number of T for values outside its range, and 0 for NaN.
template <class T>
constexpr T saturate_cast(double value) noexcept {
  using Limits = std::numeric_limits<T>;
  if (value != value) return T(0);
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<T>(value);
}

// Rounds up to a multiple of `alignment` (a power of two).
inline uint64_t align_up(uint64_t value, uint64_t alignment) {
  return checked_add<uint64_t>(value, alignment - 1) & ~(alignment - 1);
}

// The quotient, rounded up. Neither number may be negative, and b must not be 0. Overflow is not
// checked: a + b must fit into an int64_t.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace poprt
