#include "poprt/source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "common/abi.h"
#include "common/frontend.h"
#include "common/read_pieces.h"
#include "common/tensorflow.h"

namespace poprt::cli {

namespace fs = std::filesystem;

namespace {

// Returns the only .onnx file of a directory.
std::string model_file(const std::string& given) {
  std::error_code error;
  if (::access(given.c_str(), F_OK) != 0)
    throw Failure(fmt::format("cannot open '{}': {}", given, std::strerror(errno)));
  if (!fs::is_directory(given, error)) return given;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(given, error))
    if (entry.path().extension() == ".onnx") found.push_back(entry.path().string());
  if (error) throw Failure(fmt::format("cannot read the folder '{}': {}", given, error.message()));
  if (found.empty()) throw Failure(fmt::format("the folder '{}' contains no .onnx file", given));
  if (found.size() != 1)
    throw Failure(
        fmt::format("the folder '{}' contains {} .onnx files; give one of them as --input_model",
                    given, found.size()));
  return found[0];
}

// The path of the temporary copy that Piped makes, and the name to print instead of it.
std::string piped_path, piped_name;

}  // namespace

// Copies the standard input ("-"), or another source that can be read only once, to a file that the
// destructor removes.
class Piped {
 public:
  explicit Piped(const std::string& model)
      : name_(model == "-" ? "the standard input" : "'" + model + "'") {
    piped_path = path();
    piped_name = name_;
    constexpr uint64_t kMost = (uint64_t{1} << 31) - 1;  // of an ONNX model, by protobuf
    std::ofstream file(path(), std::ios::binary);
    bool empty = true;
    read_pieces(model, kMost, [&](std::span<const char> piece) {
      empty = false;
      if (!file.write(piece.data(), static_cast<std::streamsize>(piece.size())))
        throw Failure(
            fmt::format("--input_model: cannot store {}: {}", name_, std::strerror(errno)));
    });
    file.close();
    if (!file || empty)
      throw Failure(fmt::format("--input_model: nothing could be read from {}", name_));
  }
  static bool is(const std::string& model) {
    std::error_code error;
    const fs::file_type type = fs::status(model, error).type();
    return model == "-" || type == fs::file_type::fifo || type == fs::file_type::character;
  }
  std::string path() const { return (folder_.path() / "model.onnx").string(); }

 private:
  std::string name_;
  TemporaryFolder folder_;
};

Source::Source(const GivenOptions& given) {
  const std::string model = given.text("input_model");
  if (given.text("framework") == "tensorflow") {
    fs::path folder = fs::path(model).lexically_normal();
    if (!fs::is_directory(folder))
      throw Failure(fmt::format("'{}' is not the folder of a SavedModel", model));
    if (!folder.has_filename()) folder = folder.parent_path();
    path_ = (made_.emplace().path() / folder.filename()).string() + ".onnx";
    convert_tensorflow(given, folder, path_);
  } else if (given.has("framework") && given.text("framework") != "onnx") {
    const fs::path file(model);
    path_ = (made_.emplace().path() / file.stem()).string() + ".onnx";
    convert_framework(given, given.text("framework"), file, path_);
  } else {
    if (Piped::is(model)) piped_ = std::make_unique<Piped>(model);
    path_ = piped_ ? piped_->path() : model_file(model);
  }
}

Source::~Source() = default;

std::string with_piped_name(std::string message) {
  for (size_t at; !piped_path.empty() && (at = message.find(piped_path)) != message.npos;)
    message.replace(at, piped_path.size(), piped_name);
  return message;
}

}  // namespace poprt::cli
