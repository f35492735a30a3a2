#include "common/tensorflow.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

// The exit code of a program that writes into a file; -1 when it was killed.
int run(const std::vector<std::string>& words, const std::filesystem::path& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    throw Failure(
        fmt::format("--framework tensorflow: cannot start {}: {}", words[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The last line that says something.
std::string last_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string found = "it said nothing";
  for (std::string line; std::getline(stream, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) found = line;
  return found;
}

constexpr int kMissing = 3;
// Tells a package that is not there from one that fails.
constexpr const char* kFind =
    "import importlib.util, sys; sys.exit(3 if importlib.util.find_spec('tf2onnx') is None else 0)";

}  // namespace

void convert_tensorflow(const GivenOptions& options, const std::filesystem::path& saved_model,
                        const std::filesystem::path& onnx) {
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  if (run({"python3", "-c", kFind}, log) == kMissing)
    throw Failure(
        "--framework tensorflow: Python's package tf2onnx is not installed; python3 -m pip install "
        "tf2onnx tensorflow");
  std::vector<std::string> words = {"python3",
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
  if (run(words, log) != 0)
    throw Failure(fmt::format("--framework tensorflow: tf2onnx failed: {}", last_line(log)));
  if (!std::filesystem::exists(onnx))
    throw Failure(
        fmt::format("--framework tensorflow: tf2onnx wrote no model: {}", last_line(log)));
}

}  // namespace poprt::cli
