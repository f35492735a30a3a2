#include "device/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "device/control_group.h"

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

}  // namespace

std::optional<int> cpu_quota(const fs::path& root) {
  const auto quota = least_limit(root, "cpu", read_v2, read_v1);
  if (!quota) return std::nullopt;
  return static_cast<int>(std::clamp(*quota, 1.0, 1e6));
}

}  // namespace poprt::device
