// Limits of the control group of the process and of its ancestors.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace poprt::device {

// Returns the limit that the files in the folder of a group state, or nullopt.
using ReadLimit = std::function<std::optional<double>(const std::filesystem::path& folder)>;

// The smallest limit of the group and its ancestors, up to the mount point. `controller` is the
// name of the controller of version 1, such as "cpu". nullopt without a limit, or if it cannot be
// read. `root` replaces the root of the file system in tests.
std::optional<double> least_limit(const std::filesystem::path& root, std::string_view controller,
                                  const ReadLimit& read_v2, const ReadLimit& read_v1);

}  // namespace poprt::device
