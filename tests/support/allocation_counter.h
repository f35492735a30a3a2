// Counts heap allocations of all threads while one lives: malloc and its kin, and so operator new.
// Include it in one file of a test program.
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
// The sanitizers own malloc and operator new, and report both.
#include <sanitizer/allocator_interface.h>

namespace poprt::testing {
inline const int allocation_hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { count_allocation(); }, [](const volatile void*) {});
}  // namespace poprt::testing
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
