// Flushes subnormal floats to zero while a program runs: each costs some hundred cycles, and the
// emulated chip does not have them.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace poprt {

// Sets flush-to-zero and denormals-are-zero for the calling thread; the destructor restores the
// previous setting. It must be constructed and destroyed on the same thread. It has no effect on
// processors other than x86-64 and AArch64.
class FlushDenormals {
 public:
  FlushDenormals() noexcept : saved_(read()) { write(saved_ | kBits); }
  ~FlushDenormals() { write(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kBits = 0x8040;  // MXCSR: FTZ, DAZ
  static uint64_t read() noexcept { return _mm_getcsr(); }
  static void write(uint64_t v) noexcept { _mm_setcsr(static_cast<unsigned>(v)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kBits = uint64_t{1} << 24;  // FPCR: FZ
  static uint64_t read() noexcept {
    uint64_t v;
    asm volatile("mrs %0, fpcr" : "=r"(v));
    return v;
  }
  static void write(uint64_t v) noexcept { asm volatile("msr fpcr, %0" ::"r"(v)); }
#else
  static constexpr uint64_t kBits = 0;
  static uint64_t read() noexcept { return 0; }
  static void write(uint64_t) noexcept {}
#endif

  uint64_t saved_;
};

}  // namespace poprt
