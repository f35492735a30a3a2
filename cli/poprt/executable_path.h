// Decides where the executable is written and which files the command may replace.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {

// Returns the path of the executable. Throws Failure if an executable of another model is there,
// which the user may want to keep.
std::filesystem::path popef_path(const GivenOptions& given, const std::string& input);

// Whether there is an ONNX model at `path` that --output_model may only replace if the converted
// model is a version of it.
bool compares_onnx(const GivenOptions& given, const std::filesystem::path& path);
// Throws Failure if there is such a model, and no input or no output has the same name as one of
// `models`. The names of the n-th of several `fused` ones begin with "graphN/".
void require_same_onnx(const GivenOptions& given, const std::filesystem::path& path,
                       const std::vector<std::string>& models, bool fused);

// Different models may have the same name. A file that an earlier compilation wrote is replaced if
// it is the same model or another version of it.
class ExecutableReplacement {
 public:
  // With --overwrite, or if there is no executable at `path`, commit() does nothing.
  ExecutableReplacement(const GivenOptions& given, const std::filesystem::path& path);
  // The path to which the new file is written before commit(): a temporary one in the same folder
  // if commit() compares it with an old executable, else the final path. Only the extensions
  // differ, so the library derives the same name for the file of serialize_ir from both.
  std::filesystem::path temporary_path() const;
  // Whether there is an old executable that the new one must be a version of.
  bool compares() const { return old_ != nullptr; }
  // Throws Failure if the old file is another model, that is, if no input or no output has the same
  // name as one of the converted models. If they are `fused`, the names of the n-th begin
  // with "graphN/".
  void require_same_model(const std::vector<std::string>& converted, bool fused) const;
  // Moves the temporary file to its place, or removes it and throws as above.
  void commit();

 private:
  void require_same_names(const std::set<std::string>& inputs, const std::set<std::string>& outputs,
                          const std::string& name) const;

  std::filesystem::path path_;
  std::string advice_;  // the options that give another path
  Executable old_;
};

}  // namespace poprt::cli
