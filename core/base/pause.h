// What a loop that polls does between two looks.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace poprt {

// Leaves the processor's other thread more room, and saves energy.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace poprt
