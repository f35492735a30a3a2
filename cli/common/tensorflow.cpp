#include "common/tensorflow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi.h"
#include "common/child.h"
#include "common/standard_streams.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

// Returns the lines that tf2onnx has printed.
std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
  return lines;
}

std::string last_line(const std::filesystem::path& file) {
  const std::vector<std::string> lines = lines_of(file);
  return lines.empty() ? "it printed no message" : lines.back();
}

// Returns the text after `mark` in the first line that contains it, or "".
std::string text_after(const std::filesystem::path& file, std::string_view mark) {
  for (const std::string& line : lines_of(file))
    if (const size_t at = line.find(mark); at != std::string::npos)
      return line.substr(at + mark.size());
  return "";
}

constexpr const char* kOption = "--framework tensorflow";
constexpr const char* kUnsupported = "Unsupported ops: ";
constexpr int kMissing = 3;
// Distinguishes a missing package from one that fails.
constexpr const char* kFind =
    "import importlib.util, sys; sys.exit(3 if importlib.util.find_spec('tf2onnx') is None else 0)";

using Words = std::vector<std::string>;

Words words_of(const GivenOptions& options, const std::filesystem::path& saved_model,
               const std::filesystem::path& onnx) {
  Words words = python_module("tf2onnx.convert");
  words.insert(words.end(), {"--saved-model", saved_model.string(), "--output", onnx.string()});
  for (const auto& [name, spelled] :
       {std::pair("signature_def", "--signature_def"), std::pair("tag", "--tag"),
        std::pair("inputs", "--inputs"), std::pair("outputs", "--outputs"),
        std::pair("inputs_as_nchw", "--inputs-as-nchw"),
        std::pair("outputs_as_nchw", "--outputs-as-nchw")})
    if (options.has(name)) {
      words.emplace_back(spelled);
      words.push_back(options.joined(name));
    }
  return words;
}

// Converts with the wanted opset. If that opset lacks an operator of the model, tf2onnx leaves
// TensorFlow's operator in the result (often Einsum, which needs opset 12). Then tf2onnx's default
// opset is used, and PopRT's converter decomposes the operators of that opset.
void run_tf2onnx(const Words& words, const std::string& opset, const std::filesystem::path& onnx,
                 const std::filesystem::path& log) {
  Words first = words;
  first.insert(first.end(), {"--opset", opset});
  const auto succeeds = [&](const Words& with, const std::filesystem::path& output) {
    std::error_code none;
    std::filesystem::remove(onnx, none);
    return run_program(with, kOption, output) == 0 && std::filesystem::exists(onnx);
  };
  const bool made = succeeds(first, log);
  const std::string lacks = text_after(log, kUnsupported);
  if (made && lacks.empty()) return;
  const std::filesystem::path second = log.string() + "2";
  if (succeeds(words, second) && text_after(second, kUnsupported).empty()) {
    std::filesystem::copy_file(second, log, std::filesystem::copy_options::overwrite_existing);
    print_error(
        "poprt: --framework tensorflow: tf2onnx cannot write the model with opset {}{}; it was "
        "written with tf2onnx's default opset\n",
        opset, lacks.empty() ? "" : " (" + lacks + ")");
    return;
  }
  if (made && succeeds(first, log)) return;
  throw Failure(fmt::format("--framework tensorflow: tf2onnx failed: {}", last_line(log)));
}

// Returns the inputs or outputs of the model that tf2onnx wrote.
std::vector<std::string> names_of(const std::filesystem::path& onnx, const std::string& direction) {
  poprt_compiler* made = nullptr;
  check(poprt_compiler_create(nullptr, &made));
  const Compiler compiler(made);
  poprt_string* text = nullptr;
  check(poprt_compiler_show_file(compiler.get(), onnx.c_str(), &text));
  std::istringstream lines(take(text));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(direction + " "))
      names.push_back(
          line.substr(direction.size() + 1, line.find(": dtype - ") - direction.size() - 1));
  return names;
}

// Reports names that the model does not have, because tf2onnx ignores them. It accepts the names of
// the ONNX model and those of the tensors in the signature's function: NAME:0 for an input,
// Identity:0, Identity_1:0, ... for outputs.
void check_names(const GivenOptions& options, const std::filesystem::path& onnx,
                 const std::filesystem::path& log) {
  for (const std::string direction : {"input", "output"}) {
    const std::string option = direction + "s_as_nchw", mark = "transpose_" + direction + " for ";
    if (!options.has(option)) continue;
    const std::vector<std::string> model = names_of(onnx, direction);
    std::set<std::string> known(model.begin(), model.end());
    for (size_t i = 0; i < model.size(); i++)
      known.insert(direction == "input" ? model[i] + ":0"
                   : i                  ? fmt::format("Identity_{}:0", i)
                                        : "Identity:0");
    for (const std::string& name : options.names(direction + "s"))
      known.insert(name.substr(0, name.find('[')));  // "x:0[1,2]" also fixes a shape
    for (const std::string& name : options.names(option))
      if (!known.contains(name))
        throw Failure(fmt::format("tf2onnx --{}: the model has no {} '{}'; it has {}", option,
                                  direction, name, fmt::join(model, ", ")));
    if (const std::string wrong = text_after(log, mark); !wrong.empty())
      throw Failure(fmt::format("tf2onnx --{}: {}: it does not have four dimensions", option,
                                wrong.substr(0, wrong.find(": "))));
  }
}

}  // namespace

void convert_tensorflow(const GivenOptions& options, const std::filesystem::path& saved_model,
                        const std::filesystem::path& onnx) {
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  if (run_program(python_program(kFind), kOption, log) == kMissing)
    throw Failure(
        "--framework tensorflow: Python's package tf2onnx is not installed; python3 -m pip install "
        "tf2onnx tensorflow");
  run_tf2onnx(words_of(options, saved_model, onnx), options.text("opset", "11"), onnx, log);
  check_names(options, onnx, log);
}

}  // namespace poprt::cli
