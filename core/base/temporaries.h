// Names of files that are being written, and what becomes of those that a killed process left.
//
// A writer holds the lock (flock) of its file from before others can see the name until the file
// has its own name. So a file of such a name whose lock is free belongs to nobody.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace poprt {

// ".poprt-PID-NUMBER.tmp": no other writer has it.
std::string temporary_name();
bool is_temporary_name(std::string_view name);

// Takes the lock of a file that was just made. False when someone else removed it meanwhile.
bool hold_temporary(int fd);

// Removes the temporary files in `folder` that nobody holds. What cannot be removed stays.
void sweep_temporaries(const std::filesystem::path& folder);

// The same, at most once a minute for each folder: listing a large one takes time.
void sweep_temporaries_now_and_then(const std::filesystem::path& folder);

}  // namespace poprt
