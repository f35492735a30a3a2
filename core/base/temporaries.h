// Names of files that are being written, and removal of the files that a killed process left.
//
// A writer locks its temporary file (flock) before the file gets the temporary name, or as soon as
// it has created a file with such a name (lock_temporary()), and keeps the lock until the file has
// its final name. So a file with a temporary name whose lock is free has no writer any more.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace poprt {

// For example ".poprt-PID-NUMBER.tmp"; no other writer uses the same name.
std::string temporary_name();
bool is_temporary_name(std::string_view name);

// Locks a file that was just created. Returns false if another process has removed it in the
// meantime.
bool lock_temporary(int fd);

// Removes the temporary files in `folder` whose lock is free. Errors are ignored.
void sweep_temporaries(const std::filesystem::path& folder);

// The same, at most once a minute for each folder because listing a large folder takes time.
void sweep_temporaries_each_minute(const std::filesystem::path& folder);

}  // namespace poprt
