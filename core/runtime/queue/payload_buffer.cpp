#include "runtime/queue/payload_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/block_memory.h"
#include "base/checked.h"

namespace poprt::runtime {

PayloadBuffer::~PayloadBuffer() {
  if (data_) munmap(data_, capacity_);
}

void PayloadBuffer::append(std::span<const std::byte> bytes) {
  const std::span<std::byte> to = extend(bytes.size());
  if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
}

std::span<std::byte> PayloadBuffer::extend(size_t bytes) {
  const size_t needed = checked_add(size_, bytes, "executable");
  if (needed > capacity_) {
    const size_t wanted =
        align_up(std::max({needed, capacity_ + capacity_ / 2, size_t{1} << 20}), 4096);
    // Pages beyond size_ are not accessed and so use no memory.
    void* p = data_ ? mremap(data_, capacity_, wanted, MREMAP_MAYMOVE)
                    : mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      fail(ErrorCode::resource_exhausted, "cannot map {} bytes for an executable: {}", wanted,
           std::strerror(errno));
    data_ = static_cast<std::byte*>(p);
    capacity_ = wanted;
    if (bytes >= 2 * kHugePageBytes) {
      // The hint is for the new pages only, because the caller writes them completely soon. It
      // needs the alignment of a huge page.
      const auto begin =
          align_up(reinterpret_cast<uintptr_t>(data_) + needed - bytes, kHugePageBytes);
      const auto end = reinterpret_cast<uintptr_t>(data_) + needed;
      if (end > begin) prefer_huge_pages(reinterpret_cast<std::byte*>(begin), end - begin);
    }
  }
  size_ = needed;
  return {data_ + needed - bytes, bytes};
}

}  // namespace poprt::runtime
