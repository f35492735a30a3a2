// The three streams that a command is started with: any of them may be closed, or lead to a full
// disk.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace poprt::cli {

// To be called before anything is opened. A stream that is closed leaves its number to the next
// file that is opened, into which everything that is printed would then go. The standard output can
// be written as little as before, which is an error when something is printed; the other two are
// empty.
void hold_standard_streams();

// What cannot be written to the standard error is lost: there is no other place to say it.
void write_to_standard_error(std::string_view text);

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  write_to_standard_error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace poprt::cli
