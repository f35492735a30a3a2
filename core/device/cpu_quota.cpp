#include "device/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace poprt::device {
namespace {

namespace fs = std::filesystem;

// Parses "max 100000" or "150000 100000".
std::optional<double> read_v2(const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  const double time = std::strtod(quota.c_str(), nullptr);
  if (!(time > 0)) return std::nullopt;
  return time / period;
}

std::optional<double> read_v1(const fs::path& folder) {
  std::ifstream quota_file(folder / "cpu.cfs_quota_us"), period_file(folder / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0)
    return std::nullopt;
  return quota / period;
}

// The smallest quota of the group's folder and its ancestors, up to the mount point.
template <class Read>
void least(const fs::path& mount, const std::string& group, Read&& read,
           std::optional<double>& quota) {
  fs::path folder = fs::path(group).relative_path();
  for (;;) {
    if (const auto found = read(mount / folder)) quota = std::min(quota.value_or(*found), *found);
    if (folder.empty()) return;
    folder = folder.parent_path();
  }
}

}  // namespace

std::optional<int> cpu_quota(const fs::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  std::optional<double> quota;
  const fs::path mount = root / "sys/fs/cgroup";
  // A line "0::/a/b" is for version 2, "4:cpu,cpuacct:/a/b" for version 1.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (group.find("..") != std::string::npos) continue;
    if (line.starts_with("0::")) {
      least(mount, group, read_v2, quota);
    } else if (kinds.find(",cpu,") != std::string::npos) {
      least(mount / "cpu", group, read_v1, quota);
      least(mount / kinds.substr(1, kinds.size() - 2), group, read_v1, quota);
    }
  }
  if (!quota) return std::nullopt;
  return static_cast<int>(std::clamp(*quota, 1.0, 1e6));
}

}  // namespace poprt::device
