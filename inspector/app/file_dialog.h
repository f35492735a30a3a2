// The desktop's own dialog for opening a file, where zenity or kdialog is installed.
#pragma once

#include <filesystem>
#include <optional>

#include "model/task.h"

namespace poprt::inspector {

// True when there is such a program on the PATH and a display to show it on.
bool has_file_dialog();
// Shows it on a thread of its own; the result is empty when the user chose nothing.
Task<std::filesystem::path> choose_file(Wake wake);

}  // namespace poprt::inspector
