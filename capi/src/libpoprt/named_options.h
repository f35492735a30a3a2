// Options by name, poprt_compile_options.options: checks them by the table and converts them to
// fields.
#pragma once

#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "poprt/compiler.h"

namespace poprt::capi {

// Checks options `precision` and `execution_precision`, which are empty if they are not given, with
// each other and with `reproducible`. Throws invalid_argument if they exclude each other.
void check_precisions(std::string_view precision, std::string_view execution, bool reproducible);

class NamedOptions {
 public:
  // Moves options by name from o.options to the fields of `o`, which then point into this object.
  // Options without a field stay in o.options: the compiler reads them by name or records them.
  // Throws invalid_argument (an unknown name, a value of another kind, options that exclude each
  // other) and unimplemented.
  explicit NamedOptions(poprt_compile_options& o);
  NamedOptions(const NamedOptions&) = delete;
  NamedOptions& operator=(const NamedOptions&) = delete;

  // Additional tasks of poprt_compiler_convert_file.
  bool check() const { return check_; }
  bool precision_compare() const { return precision_compare_; }

 private:
  bool has(std::string_view name) const { return values_.contains(std::string(name)); }
  void read(const poprt_compile_options& o);
  void check_together(const poprt_compile_options& o) const;
  void warn_without_effect(const poprt_compile_options& o, const std::string& precision) const;
  void refuse_unavailable() const;
  void take_fields(poprt_compile_options& o);
  void take_shapes(poprt_compile_options& o);
  void take_compiler_options(poprt_compile_options& o);
  void take_opaque_blobs(poprt_compile_options& o, const std::string& json);
  void take_popart_options();
  void leave(poprt_compile_options& o);
  void record(const std::string& name, const std::string& value);
  const char* keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

  std::map<std::string, std::string> values_;  // by name, as one text
  std::vector<std::pair<std::string, std::string>> left_;
  bool check_ = false, precision_compare_ = false;
  // The memory to which fields of `o` point.
  std::list<std::string> texts_;
  std::list<std::vector<int64_t>> dimensions_;
  std::vector<poprt_input_shape> shapes_;
  std::vector<const char*> passes_, skip_passes_;
  std::vector<poprt_opaque_blob> blobs_;
  std::vector<poprt_option> options_;
};

}  // namespace poprt::capi
