// Makes a command safe if its standard streams are closed or on a full disk.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace poprt::cli {

// Must be called before any file is opened. If a stream is closed, the next file that is opened
// gets its number, and printed text would go into that file. This opens /dev/null instead: writing
// to the standard output is then still an error, the standard input is empty, and text for the
// standard error is discarded.
void hold_standard_streams();

// A failure to write to the standard error is ignored, because it cannot be reported.
void write_to_standard_error(std::string_view text);

template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  write_to_standard_error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace poprt::cli
