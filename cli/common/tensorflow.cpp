#include "common/tensorflow.h"

#include <fmt/format.h>

#include <fstream>

#include "common/child.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

// The last line that says something.
std::string last_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string found = "it said nothing";
  for (std::string line; std::getline(stream, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) found = line;
  return found;
}

constexpr const char* kOption = "--framework tensorflow";
constexpr int kMissing = 3;
// Tells a package that is not there from one that fails.
constexpr const char* kFind =
    "import importlib.util, sys; sys.exit(3 if importlib.util.find_spec('tf2onnx') is None else 0)";

}  // namespace

void convert_tensorflow(const GivenOptions& options, const std::filesystem::path& saved_model,
                        const std::filesystem::path& onnx) {
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  if (run_program({python(), "-c", kFind}, kOption, log) == kMissing)
    throw Failure(
        "--framework tensorflow: Python's package tf2onnx is not installed; python3 -m pip install "
        "tf2onnx tensorflow");
  std::vector<std::string> words = {python(),
                                    "-m",
                                    "tf2onnx.convert",
                                    "--saved-model",
                                    saved_model.string(),
                                    "--output",
                                    onnx.string(),
                                    "--opset",
                                    options.text("opset", "11")};
  for (const auto& [name, spelled] :
       {std::pair("signature_def", "--signature_def"), std::pair("tag", "--tag"),
        std::pair("inputs", "--inputs"), std::pair("outputs", "--outputs"),
        std::pair("inputs_as_nchw", "--inputs-as-nchw"),
        std::pair("outputs_as_nchw", "--outputs-as-nchw")})
    if (options.has(name)) {
      words.emplace_back(spelled);
      words.push_back(options.joined(name));
    }
  if (run_program(words, kOption, log) != 0)
    throw Failure(fmt::format("--framework tensorflow: tf2onnx failed: {}", last_line(log)));
  if (!std::filesystem::exists(onnx))
    throw Failure(
        fmt::format("--framework tensorflow: tf2onnx wrote no model: {}", last_line(log)));
}

}  // namespace poprt::cli
