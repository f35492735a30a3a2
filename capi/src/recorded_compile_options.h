// The compile options that a PopEF file records, for compiling its source again. The inverse of
// engine_options.h.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "popef/types.h"
#include "poprt/compiler.h"

namespace poprt::capi {

// Looks names up in the option table.
struct OptionNames {
  // Returns whether there is an option of this name. `words` receives whether it has several words.
  std::function<bool(std::string_view name, bool& words)> find;
  // Whether it is a field of `compiler_options`.
  std::function<bool(std::string_view name)> is_compiler_field;
};

// poprt_compile_options with the memory that they point to.
class RecordedCompileOptions {
 public:
  // `recorded` are the engine options of the file's metadata (core/popef/FORMAT.md). Throws
  // failed_precondition for an option that this version does not know, for an invalid value, for
  // the options of several fused models, and for an option that a file does not record, such as one
  // that loads code or selects a cache.
  RecordedCompileOptions(const std::vector<popef::Option>& recorded, const OptionNames& names);
  RecordedCompileOptions(const RecordedCompileOptions&) = delete;
  RecordedCompileOptions& operator=(const RecordedCompileOptions&) = delete;

  poprt_compile_options options = {};
  // The source that was compiled and its hash. Each may be empty.
  std::string source, source_hash;

 private:
  void add(const popef::Option& option, const OptionNames& names);
  void add_input_shape(const popef::Option& option);
  void add_input_length(const popef::Option& option);
  void add_by_name(const popef::Option& option, const OptionNames& names);
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

}  // namespace poprt::capi
