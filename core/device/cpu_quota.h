// The share of the CPU that the process's control group may use.
#pragma once

#include <filesystem>
#include <optional>

namespace poprt::device {

// The number of CPUs of the smallest quota among the group and its ancestors (cgroup v2 cpu.max, v1
// cpu.cfs_quota_us), at least 1. A fraction is rounded down, because throttling delays threads that
// wait for each other more than the loss of one thread does. nullopt without a quota, or if it
// cannot be read. `root` replaces the root of the file system in tests.
std::optional<int> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace poprt::device
