// Prints the results that `--check` and `--precision_compare` write next to a converted model.
#pragma once

#include <filesystem>
#include <string>

namespace poprt::cli {

// Returns the results in check.json and the first lines of precision_compare.log in a folder as
// printed lines: "check: ..." and "precision: ...", continued with indentation. Missing files give
// no lines.
std::string check_lines(const std::filesystem::path& folder);
std::string precision_lines(const std::filesystem::path& folder);

}  // namespace poprt::cli
