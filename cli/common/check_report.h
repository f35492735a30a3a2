// What `--check` and `--precision_compare` have left beside a converted model.
#pragma once

#include <filesystem>
#include <string>

namespace poprt::cli {

// The lines of check.json and the first lines of precision_compare.log in a folder, as they are
// printed: "check: ..." and "precision: ...", further ones indented. Empty for a file that is not
// there.
std::string check_lines(const std::filesystem::path& folder);
std::string precision_lines(const std::filesystem::path& folder);

}  // namespace poprt::cli
