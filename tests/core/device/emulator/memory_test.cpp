#include "device/emulator/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"

namespace poprt::device {
namespace {

constexpr uint64_t kHugePage = 2 << 20;

// Whether the page at an address belongs to a map of this process.
bool mapped(const std::byte* at) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  auto* start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(at) / page * page);
  return mincore(start, 1, &resident) == 0;
}

std::string refusal_of(uint64_t bytes) {
  try {
    const Memory memory(bytes, "scratch");
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::resource_exhausted);
    return e.message();
  }
}

TEST(Memory, IsZeroedAndWritableToItsLastByte) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4096}, kHugePage - 1, kHugePage, kHugePage + 1,
                               3 * kHugePage + 12345}) {
    const Memory memory(bytes, "test");
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_EQ(memory.bytes(), bytes);
    const uint64_t places[] = {0, bytes / 2, bytes - 1};
    for (const uint64_t at : places)
      EXPECT_EQ(memory.data()[at], std::byte{0}) << at << " of " << bytes;
    for (const uint64_t at : places) {
      memory.data()[at] = std::byte{7};
      EXPECT_EQ(memory.data()[at], std::byte{7}) << at << " of " << bytes;
    }
  }
}

TEST(Memory, BlocksOfHugePagesBeginAtOne) {
  for (int i = 0; i < 8; i++) {
    const Memory apart(4096 * static_cast<uint64_t>(i + 1), "so that the next one is elsewhere");
    const Memory memory(kHugePage + static_cast<uint64_t>(i), "test");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % kHugePage, 0u);
  }
}

TEST(Memory, ZeroBytesAreNotMapped) {
  const Memory none(0, "nothing");
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.bytes(), 0u);
}

TEST(Memory, IsGivenBack) {
  for (const uint64_t bytes : {uint64_t{4096}, 2 * kHugePage}) {
    const std::byte *first = nullptr, *last = nullptr;
    {
      const Memory memory(bytes, "test");
      first = memory.data(), last = memory.data() + bytes - 1;
      EXPECT_TRUE(mapped(first) && mapped(last)) << bytes;
    }
    EXPECT_FALSE(mapped(first)) << bytes;
    EXPECT_FALSE(mapped(last)) << bytes;
  }
}

TEST(Memory, MovesAndGivesTheOldOneBack) {
  Memory a(4096, "a");
  std::byte* const at = a.data();
  a.data()[5] = std::byte{5};
  Memory b(std::move(a));
  EXPECT_EQ(b.data(), at);
  EXPECT_EQ(b.bytes(), 4096u);
  const std::byte* old = nullptr;
  {
    Memory c(8192, "c");
    old = c.data();
    c = std::move(b);
    EXPECT_EQ(c.data(), at);
    EXPECT_EQ(c.bytes(), 4096u);
    EXPECT_EQ(c.data()[5], std::byte{5});
    b = Memory();
    EXPECT_FALSE(mapped(old));
    EXPECT_TRUE(mapped(at));
  }
  EXPECT_FALSE(mapped(at));
}

TEST(Memory, MoreThanTheMachineHasIsRefusedBeforeItIsTouched) {
  struct sysinfo machine{};
  ASSERT_EQ(sysinfo(&machine), 0);
  const uint64_t there = uint64_t{machine.totalram + machine.totalswap} * machine.mem_unit;
  EXPECT_NE(refusal_of(there + (1 << 20)).find("of this machine"), std::string::npos);
  EXPECT_NE(refusal_of((uint64_t{1} << 40) + 1).find("more than the limit"), std::string::npos);
  EXPECT_NE(refusal_of(UINT64_MAX).find("scratch: 18446744073709551615 bytes"), std::string::npos);
}

TEST(Memory, AcceptsSizesThatTheMachineHas) {
  struct sysinfo machine{};
  ASSERT_EQ(sysinfo(&machine), 0);
  const uint64_t there = uint64_t{machine.totalram + machine.totalswap} * machine.mem_unit;
  if (there <= uint64_t{1} << 30) GTEST_SKIP() << "a machine of " << there << " bytes";
  EXPECT_EQ(refusal_of(uint64_t{1} << 30), "");
}

}  // namespace
}  // namespace poprt::device
