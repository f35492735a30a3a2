#include "device/cpu_quota.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

namespace poprt::device {
namespace {

namespace fs = std::filesystem;

// Returns the quota in a file system with these files.
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

TEST(CpuQuota, Version1IsReadInTheFolderCpuToo) {
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "3:cpu,cpuacct:/a\n"},
                      {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "500000"},
                      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"}}),
            5);
}

TEST(CpuQuota, OtherControllersAndVersionsAreNotMixedUp) {
  // The process has a group of version 2 and files of version 1, and the reverse.
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/a\n"},
                      {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "500000"},
                      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"},
                      {"sys/fs/cgroup/a/cpu.cfs_quota_us", "500000"},
                      {"sys/fs/cgroup/a/cpu.cfs_period_us", "100000"}}),
            std::nullopt);
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "3:cpu:/a\n"},
                      {"sys/fs/cgroup/a/cpu.max", "500000 100000"},
                      {"sys/fs/cgroup/cpu/a/cpu.max", "500000 100000"}}),
            std::nullopt);
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "3:cpuset,memory:/a\n"},
                      {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "500000"},
                      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"}}),
            std::nullopt);
}

TEST(CpuQuota, BrokenLinesAreNoGroups) {
  const std::string limit = "sys/fs/cgroup/cpu.max";
  for (const char* line : {"", "0", "0:", ":", "cpu", "0:/a"})
    EXPECT_EQ(quota_of({{"proc/self/cgroup", std::string(line) + "\n"}, {limit, "300000 100000"}}),
              std::nullopt)
        << line;
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "nonsense\n0::/\n"}, {limit, "300000 100000"}}), 3);
  for (const char* bad : {"", "x 100000", "300000", "300000 0", "-1 100000", "0 100000"})
    EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/\n"}, {limit, bad}}), std::nullopt) << bad;
}

TEST(CpuQuota, IsAtLeastOneAndAtMostAMillion) {
  const auto of = [](const char* text) {
    return quota_of({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", text}});
  };
  EXPECT_EQ(of("1 100000"), 1);
  EXPECT_EQ(of("199999 100000"), 1);
  EXPECT_EQ(of("200000 100000"), 2);
  EXPECT_EQ(of("1e300 1"), 1000000);
}

TEST(CpuQuota, Version1NeedsBothNumbers) {
  const auto of = [](const char* quota, const char* period) {
    std::map<std::string, std::string> files = {{"proc/self/cgroup", "3:cpu:/a\n"}};
    if (quota) files["sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"] = quota;
    if (period) files["sys/fs/cgroup/cpu/a/cpu.cfs_period_us"] = period;
    return quota_of(files);
  };
  EXPECT_EQ(of("400000", "100000"), 4);
  EXPECT_EQ(of("400000", nullptr), std::nullopt);
  EXPECT_EQ(of(nullptr, "100000"), std::nullopt);
  EXPECT_EQ(of("0", "100000"), std::nullopt);
  EXPECT_EQ(of("400000", "0"), std::nullopt);
  EXPECT_EQ(of("400000", "-1"), std::nullopt);
  EXPECT_EQ(of("x", "100000"), std::nullopt);
}

TEST(CpuQuota, TheLeastOfAllGroupsCounts) {
  for (const char* here : {"200000 100000", "700000 100000"})
    EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/a/b\n3:cpu:/c\n"},
                        {"sys/fs/cgroup/cpu.max", "500000 100000"},
                        {"sys/fs/cgroup/a/b/cpu.max", here},
                        {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000"},
                        {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"}}),
              here[0] == '2' ? 2 : 4);
}

TEST(CpuQuota, ANameThatOnlyLooksAboveTheMountIsIgnoredToo) {
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/a/../b\n"},
                      {"sys/fs/cgroup/cpu.max", "100000 100000"},
                      {"sys/fs/cgroup/b/cpu.max", "100000 100000"}}),
            std::nullopt);
}

TEST(CpuQuota, AGroupOutsideTheMountIsIgnored) {
  EXPECT_EQ(quota_of({{"proc/self/cgroup", "0::/../x\n"}, {"sys/fs/x/cpu.max", "100000 100000"}}),
            std::nullopt);
}

}  // namespace
}  // namespace poprt::device
