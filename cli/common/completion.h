// --print_completion: what a shell completes `poprt` with.
#pragma once

#include <string>

namespace poprt::cli {

// `shell` is bash or zsh.
std::string completion(const std::string& shell);

}  // namespace poprt::cli
