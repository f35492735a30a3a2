// Prints the results that `--check`, `--precision_compare` and calibrations write next to a
// converted model.
#pragma once

#include <filesystem>
#include <string>

namespace poprt::cli {

// Returns the results in check.json and the first lines of precision_compare.log in a folder as
// printed lines: "check: ..." and "precision: ...", continued with indentation. Missing files give
// no lines.
std::string check_lines(const std::filesystem::path& folder);
std::string precision_lines(const std::filesystem::path& folder);
// Returns the lines of quantize.log in a folder from "accuracy on" on, for precision int8.
std::string accuracy_lines(const std::filesystem::path& folder);

}  // namespace poprt::cli
