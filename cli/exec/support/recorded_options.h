// The compile options that a PopEF file records, for compiling its source again.
#pragma once

#include <poprt/compiler.h>

#include <list>
#include <string>
#include <vector>

#include "popef/types.h"

namespace poprt::cli {

// poprt_compile_options with the memory that they point to.
class RecordedOptions {
 public:
  // `recorded` are the engine options of the file's metadata (core/popef/FORMAT.md). Throws Failure
  // for an option that this version does not know, or for an invalid value.
  explicit RecordedOptions(const std::vector<popef::Option>& recorded);
  RecordedOptions(const RecordedOptions&) = delete;
  RecordedOptions& operator=(const RecordedOptions&) = delete;

  poprt_compile_options options = {};
  // The source that was compiled and its hash. Each may be empty.
  std::string source, source_hash;

 private:
  void add(const popef::Option& option);
  void add_input_shape(const popef::Option& option);
  void add_input_length(const popef::Option& option);
  void add_by_name(const popef::Option& option);
  void add_words(const char* name, std::string& words);
  const char* keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

  std::list<std::string> texts_;
  std::list<std::vector<int64_t>> shape_values_;
  std::vector<poprt_input_shape> shapes_;
  std::vector<poprt_input_length> lengths_;
  std::vector<const char*> passes_, skip_passes_, outputs_;
  std::vector<poprt_option> named_;
  std::string compiler_options_, popart_options_;
};

}  // namespace poprt::cli
