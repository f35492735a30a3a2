#include "device/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "device/control_group.h"

namespace poprt::device {
namespace {

// Parses "max" or "1073741824". Version 1 without a limit has a number close to 2^63.
std::optional<double> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path);
  double bytes = 0;
  if (!(file >> bytes) || !(bytes > 0)) return std::nullopt;
  return bytes;
}

}  // namespace

uint64_t memory_limit(const std::filesystem::path& root) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t computer = pages > 0 && page > 0
                                ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page)
                                : std::numeric_limits<uint64_t>::max();
  const auto group = least_limit(
      root, "memory", [](const auto& folder) { return read_bytes(folder / "memory.max"); },
      [](const auto& folder) { return read_bytes(folder / "memory.limit_in_bytes"); });
  if (!group || *group >= static_cast<double>(computer)) return computer;
  return static_cast<uint64_t>(*group);
}

}  // namespace poprt::device
