// --print_completion: prints the completion script of `poprt` for a shell.
#pragma once

#include <string>

namespace poprt::cli {

// `shell` is bash or zsh.
std::string completion(const std::string& shell);

}  // namespace poprt::cli
