// Formats the results that `--check`, `--precision_compare` and calibrations write next to a
// converted model.
#pragma once

#include <filesystem>
#include <string>

namespace poprt::cli {

// Returns the results in check.json, and the lines of precision_compare.log before its first empty
// line, as they are printed: "check: ..." and "precision: ...", with further lines indented. The
// result is empty if the file is missing.
std::string check_lines(const std::filesystem::path& folder);
std::string precision_lines(const std::filesystem::path& folder);
// Returns the lines of quantize.log in a folder from "accuracy on" on, for precision int8.
std::string accuracy_lines(const std::filesystem::path& folder);

}  // namespace poprt::cli
