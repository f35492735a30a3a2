// The pause of a polling loop between two checks.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace poprt {

// Leaves more resources to the other hardware thread of the core, and saves energy.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace poprt
