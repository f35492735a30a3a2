#include "device/control_group.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace poprt::device {
namespace {

namespace fs = std::filesystem;

// Sets `limit` to the smallest one of itself, the group's folder and its ancestors.
void take_least(const fs::path& mount, const std::string& group, const ReadLimit& read,
                std::optional<double>& limit) {
  fs::path folder = fs::path(group).relative_path();
  for (;;) {
    if (const auto found = read(mount / folder)) limit = std::min(limit.value_or(*found), *found);
    if (folder.empty()) return;
    folder = folder.parent_path();
  }
}

}  // namespace

std::optional<double> least_limit(const fs::path& root, std::string_view controller,
                                  const ReadLimit& read_v2, const ReadLimit& read_v1) {
  std::ifstream groups(root / "proc/self/cgroup");
  std::optional<double> limit;
  const fs::path mount = root / "sys/fs/cgroup";
  // A line "0::/a/b" is for version 2, "4:cpu,cpuacct:/a/b" for version 1.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (group.find("..") != std::string::npos) continue;
    if (line.starts_with("0::")) {
      take_least(mount, group, read_v2, limit);
    } else if (kinds.find("," + std::string(controller) + ",") != std::string::npos) {
      take_least(mount / controller, group, read_v1, limit);
      take_least(mount / kinds.substr(1, kinds.size() - 2), group, read_v1, limit);
    }
  }
  return limit;
}

}  // namespace poprt::device
