// How much memory the process may use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace poprt::device {

// The bytes of memory of the computer, or the smallest limit of the process's control group and its
// ancestors (cgroup v2 memory.max, v1 memory.limit_in_bytes) if that is smaller. `root` replaces
// the root of the file system in tests.
uint64_t memory_limit(const std::filesystem::path& root = "/");

}  // namespace poprt::device
