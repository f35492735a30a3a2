#include "base/block_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

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

// Whether the kernel notes a request for huge pages at an address (proc(5), VmFlags of smaps).
bool requests_huge_pages(const std::byte* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> first >> dash >> end && dash == '-')
      inside = first <= at && at < end;
    else if (inside && line.starts_with("VmFlags:"))
      return (line + " ").find(" hg ") != std::string::npos;
  }
  ADD_FAILURE() << "no map contains the address";
  return false;
}

TEST(BlockMemory, LargeBlocksRequestHugePages) {
  const auto is_aligned = [](const std::shared_ptr<std::byte>& block) {
    return reinterpret_cast<uintptr_t>(block.get()) % kHugePageBytes == 0;
  };
  const auto large = allocate_block(5 * kHugePageBytes + 123),
             least = allocate_block(2 * kHugePageBytes);
  EXPECT_TRUE(is_aligned(large));
  EXPECT_TRUE(is_aligned(least));
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "no huge pages";
  EXPECT_TRUE(requests_huge_pages(least.get()));
  EXPECT_TRUE(requests_huge_pages(large.get()));
  EXPECT_TRUE(requests_huge_pages(large.get() + 5 * kHugePageBytes - 1));
  EXPECT_FALSE(requests_huge_pages(large.get() + 5 * kHugePageBytes)) << "a part of a huge page";
}

TEST(BlockMemory, SmallBlocksRequestNoHugePages) {
  std::byte* const memory = static_cast<std::byte*>(::mmap(
      nullptr, 2 * kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  prefer_huge_pages(memory, 2 * kHugePageBytes - 1);
  EXPECT_FALSE(requests_huge_pages(memory));
  ::munmap(memory, 2 * kHugePageBytes);
}

#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) && \
    !__has_feature(thread_sanitizer)
// The C library maps blocks of this size, so that they are not mapped after their end.
TEST(BlockMemory, GivesItsMemoryBack) {
  constexpr uint64_t kBytes = uint64_t{64} << 20;
  auto block = allocate_block(kBytes);
  std::byte* const address = block.get();
  unsigned char state = 0;
  ASSERT_EQ(::mincore(address, 1, &state), 0);
  block.reset();
  EXPECT_EQ(::mincore(address, 1, &state), -1);
  EXPECT_EQ(errno, ENOMEM);
}
#endif

}  // namespace
}  // namespace poprt
