// The text of --help and --help-all. Commands include arguments.h instead, because CLI11's headers
// are slow to compile.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace poprt::cli {

// Formats the help of one command: usage, the first options to learn, examples, and the other
// options by group. --help lists the other options by name if there are first options, and
// --help-all describes all of them.
class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

  std::vector<std::string> first;                             // such as --input_model
  std::vector<std::pair<std::string, std::string>> examples;  // command lines and their effect
  std::string footer;
};

}  // namespace poprt::cli
