#include "device/memory_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

namespace poprt::device {
namespace {

// The limit in a file system with these files.
uint64_t memory_of(const std::map<std::string, std::string>& files) {
  namespace fs = std::filesystem;
  const fs::path root =
      fs::path(testing::TempDir()) / ("memory_limit_" + std::to_string(::getpid()));
  fs::remove_all(root);
  for (const auto& [name, text] : files) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  const uint64_t found = memory_limit(root);
  fs::remove_all(root);
  return found;
}

TEST(MemoryLimit, IsThatOfTheComputerWithoutALimitOfTheGroup) {
  const uint64_t computer = memory_of({});
  EXPECT_EQ(computer, static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(memory_of({{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/memory.max", "max\n"}}),
            computer);
  EXPECT_EQ(memory_of({{"proc/self/cgroup", "4:memory:/a\n"},
                       {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n"}}),
            computer);
}

TEST(MemoryLimit, IsTheLeastOfTheGroupsAbove) {
  EXPECT_EQ(memory_of({{"proc/self/cgroup", "0::/a/b\n"},
                       {"sys/fs/cgroup/a/memory.max", "20000000\n"},
                       {"sys/fs/cgroup/a/b/memory.max", "30000000\n"}}),
            20000000u);
  EXPECT_EQ(memory_of({{"proc/self/cgroup", "4:cpu:/x\n3:memory:/a\n"},
                       {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "40000000\n"}}),
            40000000u);
}

}  // namespace
}  // namespace poprt::device
