// Counts the heap allocations of all threads during the lifetime of an AllocationCounter: malloc
// and related functions, and therefore operator new. Include it in one file of a test program.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "support/failing_allocation.h"
#include "support/sanitized.h"

namespace poprt::test {

inline std::atomic<int64_t> allocations{0};
inline std::atomic<uint64_t> allocated_bytes{0};
inline std::atomic<int> counting{0};

inline void count_allocation(size_t bytes) noexcept {
  if (!counting.load(std::memory_order_relaxed)) return;
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

class AllocationCounter {
 public:
  AllocationCounter() {
    counting.fetch_add(1);
    // Without this check, a test would count nothing if another allocator were in use.
    const int64_t before = allocations.load();
    void* volatile probe = ::operator new(1);
    ::operator delete(probe);
    if (allocations.load() == before) std::abort();
    start_ = allocations.load();
    start_bytes_ = allocated_bytes.load();
  }
  ~AllocationCounter() { counting.fetch_sub(1); }
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;
  int64_t count() const { return allocations.load() - start_; }
  uint64_t bytes() const { return allocated_bytes.load() - start_bytes_; }  // freed ones too

 private:
  int64_t start_ = 0;
  uint64_t start_bytes_ = 0;
};

}  // namespace poprt::test

#if POPRT_TEST_SANITIZED
// The sanitizers own malloc and operator new, and report both.
#include <sanitizer/allocator_interface.h>

namespace poprt::test {
inline const int allocation_hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t bytes) { count_allocation(bytes); },
    [](const volatile void*) {});
}  // namespace poprt::test
#else
// These functions replace the allocator functions of glibc; operator new calls malloc. They must be
// visible, because shared libraries would otherwise call those of glibc.
#define POPRT_TEST_VISIBLE __attribute__((visibility("default")))
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t n, size_t bytes);
void* __libc_realloc(void* p, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
POPRT_TEST_VISIBLE void* malloc(size_t bytes) noexcept {
  if (poprt::test::fails_allocation()) return nullptr;
  poprt::test::count_allocation(bytes);
  return __libc_malloc(bytes);
}
POPRT_TEST_VISIBLE void* calloc(size_t n, size_t bytes) noexcept {
  poprt::test::count_allocation(n * bytes);
  return __libc_calloc(n, bytes);
}
POPRT_TEST_VISIBLE void* realloc(void* p, size_t bytes) noexcept {
  poprt::test::count_allocation(bytes);
  return __libc_realloc(p, bytes);
}
POPRT_TEST_VISIBLE void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  poprt::test::count_allocation(bytes);
  return __libc_memalign(alignment, bytes);
}
}
#endif
