// A private folder of the user for locks and telemetry that processes share.
#pragma once

#include <filesystem>
#include <string>

namespace poprt::device {

// `wanted` if it is not empty, else $XDG_RUNTIME_DIR/poprt, else /dev/shm/poprt-UID. Creates it
// with mode 0700 if it is missing. Throws permission_denied if it is not a folder of this user (a
// link is refused), and invalid_argument if `wanted` is not an absolute path.
std::filesystem::path runtime_dir(const std::string& wanted = {});

}  // namespace poprt::device
