// Lets malloc fail in a thread, and therefore operator new. It acts in a test program that also
// includes support/allocation_counter.h, and not with sanitizers, which own malloc.
#pragma once

#include <cstdint>

#include "support/sanitized.h"

namespace poprt::test {

inline constexpr bool kAllocationsCanFail = !POPRT_TEST_SANITIZED;

// The number of calls of malloc by this thread that succeed from now on; negative: all.
inline thread_local int64_t allocations_left = -1;

inline bool fails_allocation() noexcept {
  if (allocations_left < 0) return false;
  if (allocations_left == 0) return true;
  allocations_left--;
  return false;
}

}  // namespace poprt::test
