#include "device/cpu_quota.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

namespace poprt::device {
namespace {

namespace fs = std::filesystem;

// A file system with these files.
std::optional<int> quota_of(const std::map<std::string, std::string>& files) {
  const fs::path root = fs::path(testing::TempDir()) / ("cpu_quota_" + std::to_string(::getpid()));
  fs::remove_all(root);
  for (const auto& [name, text] : files) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  const auto found = cpu_quota(root);
  fs::remove_all(root);
  return found;
}

TEST(CpuQuota, NoneWithoutGroupsOrLimit) {
  EXPECT_EQ(quota_of({}), std::nullopt);
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "max 100000"}}),
            std::nullopt);
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "3:cpu,cpuacct:/\n"},
                      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"},
                      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"}}),
            std::nullopt);
}

TEST(CpuQuota, Version2TakesTheLeastOfTheGroupsAbove) {
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/a/b\n"},
                      {"sys/fs/cgroup/a/cpu.max", "250000 100000"},
                      {"sys/fs/cgroup/a/b/cpu.max", "800000 100000"}}),
            2);
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "50000 100000"}}),
            1);
}

TEST(CpuQuota, Version1IsReadBelowItsControllers) {
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/a\n"},
                      {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "300000"},
                      {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000"}}),
            3);
}

TEST(CpuQuota, AGroupOutsideTheMountIsIgnored) {
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/../x\n"}, {"sys/fs/x/cpu.max", "100000 100000"}}),
            std::nullopt);
}

}  // namespace
}  // namespace poprt::device
