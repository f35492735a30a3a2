#include "base/block_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace poprt {
namespace {

TEST(BlockMemory, IsAlignedAndWritable) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{5000}, 2 * kHugePageBytes - 1,
                               2 * kHugePageBytes, 5 * kHugePageBytes + 123}) {
    const auto block = allocate_block(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 4096, 0u) << bytes;
    if (bytes) std::memset(block.get(), 1, bytes);
  }
}

}  // namespace
}  // namespace poprt
