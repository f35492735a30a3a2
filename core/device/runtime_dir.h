// A folder of this user alone, for locks and telemetry that processes share.
#pragma once

#include <filesystem>
#include <string>

namespace poprt::device {

// `wanted` when it is not empty, else $XDG_RUNTIME_DIR/poprt, else /dev/shm/poprt-UID. Made with
// mode 0700 when it is missing. Throws permission_denied when it is not a folder of this user (a
// link counts as none), invalid_argument when `wanted` is no absolute path.
std::filesystem::path runtime_dir(const std::string& wanted = {});

}  // namespace poprt::device
