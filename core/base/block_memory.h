// Blocks of memory for bytes that are written once and then read, such as weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace poprt {

inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

// Allocates `bytes` that are aligned to 4096. Their values are undefined. A large block uses huge
// pages if the machine has free ones, because the first write to each small page costs as much as
// the bytes. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_block(uint64_t bytes);

// Requests huge pages for memory that is not written yet. This is a hint only.
void prefer_huge_pages(std::byte* memory, uint64_t bytes);

}  // namespace poprt
