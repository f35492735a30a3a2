// How much of the CPU the process's control group may use.
#pragma once

#include <filesystem>
#include <optional>

namespace poprt::device {

// CPUs of the smallest quota of the group and those above it (cgroup v2 cpu.max, v1
// cpu.cfs_quota_us), at least 1, in part of one rounded down: threads that wait for each other lose
// more by being stopped than by being fewer. None without a quota, or where it cannot be read.
// `root` stands for the file system's, for tests.
std::optional<int> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace poprt::device
