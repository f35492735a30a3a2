// Refuses to write over the files that the same command reads, and over files with other contents.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace poprt::cli {

// The contents of a file that a command writes. They decide which existing files it may replace.
enum class Contents { arrays, ir, onnx, popef, recording, svg };

// The files of one command. A command adds everything that it reads, and then each file that it is
// going to write, before it writes the first one. Files are compared by device and inode, so other
// spellings, symbolic links and hard links of a path are found. Devices and pipes may be written.
class CommandFiles {
 public:
  // A model, executable, configuration or tensor file.
  void reads(const std::filesystem::path& file);
  // An ONNX model with its external data, or another file.
  void reads_model(const std::filesystem::path& file);
  // A folder with all files in it, except PopEF files, because a generator's folder may contain
  // those that it saved before.
  void reads_folder(const std::filesystem::path& folder);
  // Whether the command has an option --overwrite, and whether it is given. With the option, the
  // command also replaces files with other contents.
  void may_overwrite(bool given);
  // Throws Usage if the file is one that the command reads or also writes, or, without --overwrite,
  // if it exists and has other contents or cannot be read. An empty file has any contents. `option`
  // names the option that gives the path, such as --output.
  void writes(const std::filesystem::path& file, Contents contents, const std::string& option);

 private:
  void require_unread(const std::filesystem::path& file, const std::string& option);
  void require_contents(const std::filesystem::path& file, Contents contents,
                        const std::string& option) const;

  std::vector<std::filesystem::path> inputs_, models_, folders_;
  std::vector<std::pair<std::filesystem::path, std::string>> outputs_;  // and their options
  std::optional<std::set<std::filesystem::path>> external_data_;        // of models_
  std::optional<bool> overwrite_;  // empty if the command has no such option
};

// The external data files that an ONNX model names. The names need not exist. Returns none for a
// file that cannot be read.
std::set<std::filesystem::path> external_data_of(const std::filesystem::path& model);

}  // namespace poprt::cli
