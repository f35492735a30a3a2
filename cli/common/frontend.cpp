#include "common/frontend.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "common/abi.h"
#include "common/child.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

constexpr int kNoPackage = 3;
// Distinguishes a missing package from one that fails.
constexpr const char* kFindPackage =
    "import importlib.util, sys; sys.exit(3 if importlib.util.find_spec('poprt') is None else 0)";

std::string last_line_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string last = "it printed no message";
  for (std::string line; std::getline(stream, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return last;
}

}  // namespace

void convert_framework(const GivenOptions& options, const std::string& framework,
                       const std::filesystem::path& model, const std::filesystem::path& onnx) {
  const std::string purpose = "--framework " + framework;
  if (!std::filesystem::exists(model))
    throw Failure(fmt::format("cannot open '{}': No such file or directory", model.string()));
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  if (run_program(python_program(kFindPackage), purpose, log) == kNoPackage)
    throw Failure(
        purpose +
        ": Python's package poprt is not installed; POPRT_PYTHON selects the interpreter");
  std::vector<std::string> words = python_module("poprt.frontend");
  words.insert(words.end(), {"--framework", framework, "--output", onnx.string()});
  for (const auto& [name, value] : options.for_library()) {
    if (name != "input_shape") continue;
    words.push_back("--input_shape");
    std::istringstream lines(value);
    for (std::string line; std::getline(lines, line);) words.push_back(line);
    words.push_back("--");
  }
  words.push_back(std::filesystem::absolute(model).string());
  if (run_program(words, purpose, log) != 0 || !std::filesystem::exists(onnx))
    throw Failure(fmt::format("{}: {}", purpose, last_line_of(log)));
}

}  // namespace poprt::cli
