// Zeroed, page-aligned memory directly from the kernel. Pages use no memory until they are
// accessed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace poprt::device {

class Memory {
 public:
  Memory() = default;
  // `what` describes the memory in errors. Throws resource_exhausted. Blocks of 2 MiB and more
  // request huge pages.
  Memory(uint64_t bytes, const char* what);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  std::byte* data() const noexcept { return data_; }
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  void* map_ = nullptr;
  size_t map_bytes_ = 0;
};

}  // namespace poprt::device
