// Arithmetic on sizes that come from outside: every overflow is an Error, never a wrap.
#pragma once

#include <cstdint>

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

// Rounds up to a multiple of `alignment` (a power of two).
inline uint64_t align_up(uint64_t value, uint64_t alignment) {
  return checked_add<uint64_t>(value, alignment - 1) & ~(alignment - 1);
}

}  // namespace poprt
