// Page-aligned memory that grows at its end without copying.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace poprt::runtime {

// Appends bytes; the kernel moves pages when the memory grows.
class PayloadBuffer {
 public:
  PayloadBuffer() = default;
  ~PayloadBuffer();
  PayloadBuffer(const PayloadBuffer&) = delete;
  PayloadBuffer& operator=(const PayloadBuffer&) = delete;

  // Appends a copy of the bytes. Throws like extend().
  void append(std::span<const std::byte> bytes);
  // Appends zeros and returns them, so that the caller can write them until the next append() or
  // extend(). Throws resource_exhausted, and out_of_range if the size overflows.
  std::span<std::byte> extend(size_t bytes);
  // Valid until the next append() or extend().
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace poprt::runtime
