// Counts heap allocations of all threads while one lives: operator new and, without a sanitizer,
// malloc and its kin. Include it in one file of a test program.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define POPRT_TEST_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define POPRT_TEST_SANITIZER 1
#endif

namespace poprt::testing {

inline std::atomic<int64_t> allocations{0};
inline std::atomic<int> counting{0};

inline void count_allocation() noexcept {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}

class AllocationCounter {
 public:
  AllocationCounter() : start_(allocations.load()) { counting.fetch_add(1); }
  ~AllocationCounter() { counting.fetch_sub(1); }
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;
  int64_t count() const { return allocations.load() - start_; }

 private:
  int64_t start_;
};

}  // namespace poprt::testing

#if defined(POPRT_TEST_SANITIZER)
// The sanitizers own malloc: count what C++ asks for.
void* operator new(size_t bytes) {
  poprt::testing::count_allocation();
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#else
// glibc's own names for what malloc does; operator new calls malloc.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t n, size_t bytes);
void* __libc_realloc(void* p, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void* malloc(size_t bytes) noexcept {
  poprt::testing::count_allocation();
  return __libc_malloc(bytes);
}
void* calloc(size_t n, size_t bytes) noexcept {
  poprt::testing::count_allocation();
  return __libc_calloc(n, bytes);
}
void* realloc(void* p, size_t bytes) noexcept {
  poprt::testing::count_allocation();
  return __libc_realloc(p, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  poprt::testing::count_allocation();
  return __libc_memalign(alignment, bytes);
}
}
#endif
