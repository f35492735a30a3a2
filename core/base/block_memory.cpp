#include "base/block_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace poprt {

void prefer_huge_pages(std::byte* memory, uint64_t bytes) {
  if (bytes >= 2 * kHugePageBytes)
    ::madvise(memory, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
}

std::shared_ptr<std::byte> allocate_block(uint64_t bytes) {
  constexpr uint64_t kPage = 4096;
  const std::align_val_t alignment{bytes < 2 * kHugePageBytes ? kPage : kHugePageBytes};
  auto* memory = static_cast<std::byte*>(::operator new(std::max<uint64_t>(bytes, 1), alignment));
  prefer_huge_pages(memory, bytes);
  return {memory, [alignment](std::byte* p) { ::operator delete(p, alignment); }};
}

}  // namespace poprt
