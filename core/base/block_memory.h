// Blocks of memory for bytes that are written once and then read, such as weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace poprt {

inline constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

// Allocates `bytes` that are aligned to at least 4096. Their values are undefined. A block of 4 MiB
// or more requests huge pages, because the first access to each small page costs as much as writing
// its bytes. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_block(uint64_t bytes);

// Requests huge pages for memory that is not written yet and begins at a page. Does nothing for
// less than 4 MiB. This is only a hint: the system may use small pages.
void prefer_huge_pages(std::byte* memory, uint64_t bytes);

}  // namespace poprt
