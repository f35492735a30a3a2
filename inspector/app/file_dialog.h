// The desktop's dialog for opening a file, if zenity or kdialog is installed.
#pragma once

#include <filesystem>
#include <optional>

#include "model/task.h"

namespace poprt::inspector {

// Whether one of these programs is on the PATH and there is a display.
bool has_file_dialog();
// Shows the dialog on another thread. The result is empty if the user selects nothing.
Task<std::filesystem::path> choose_file(Wake wake);

}  // namespace poprt::inspector
