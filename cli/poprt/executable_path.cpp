#include "poprt/executable_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "common/arguments.h"
#include "common/output_path.h"

namespace poprt::cli {

namespace fs = std::filesystem;

namespace {

std::set<std::string> input_names(const poprt_executable* e) {
  std::set<std::string> names;
  for (size_t i = 0; i < poprt_executable_input_count(e); i++)
    names.insert(poprt_anchor_name(poprt_executable_input(e, i)));
  // All fused models have the input that selects a graph.
  const auto first = names.lower_bound("graph0/");
  if (first != names.end() && first->starts_with("graph0/")) names.erase("index");
  return names;
}

std::set<std::string> output_names(const poprt_executable* e) {
  std::set<std::string> names;
  for (size_t i = 0; i < poprt_executable_output_count(e); i++)
    names.insert(poprt_anchor_name(poprt_executable_output(e, i)));
  return names;
}

std::string source_hash(const poprt_executable* e) {
  poprt_popef_metadata* metadata = nullptr;
  check(poprt_executable_popef_metadata(e, &metadata));
  const std::unique_ptr<poprt_popef_metadata, void (*)(poprt_popef_metadata*)> owner(
      metadata, poprt_popef_metadata_free);
  const char* value = nullptr;
  for (size_t i = 0;; i++) {
    const char* name = poprt_popef_metadata_option(metadata, POPRT_POPEF_ENGINE_OPTIONS, i, &value);
    if (!name) return {};
    if (std::string_view(name) == "source_hash") return value;
  }
}

struct Names {
  std::set<std::string> inputs, outputs;
};

// The names of the models. If they are `fused`, those of the n-th begin with "graphN/".
Names names_of(const std::vector<std::string>& models, bool fused) {
  Names all;
  for (size_t i = 0; i < models.size(); i++) {
    const std::string prefix = fused ? fmt::format("graph{}/", i) : std::string();
    const ModelNames names = model_names(models[i], false);
    for (const std::string& name : names.inputs) all.inputs.insert(prefix + name);
    for (const std::string& name : names.outputs) all.outputs.insert(prefix + name);
  }
  return all;
}

// Throws Failure if no input or no output has the same name. `file` describes the old model.
void require_common(const std::string& file, const Names& before, const Names& after,
                    const std::string& advice) {
  const auto require = [&](const char* what, const std::set<std::string>& old,
                           const std::set<std::string>& now) {
    const auto kept = [&](const std::string& n) { return now.contains(n); };
    if (old.empty() || std::ranges::any_of(old, kept)) return;
    throw Failure(fmt::format("{}, whose {}s are {}, not {}; give {}, or --overwrite", file, what,
                              fmt::join(old, ", "), fmt::join(now, ", "), advice));
  };
  require("input", before.inputs, after.inputs);
  require("output", before.outputs, after.outputs);
}

}  // namespace

bool compares_onnx(const GivenOptions& given, const fs::path& path) {
  std::error_code error;
  return given.has("output_model") && !given.has("overwrite") && fs::is_regular_file(path, error) &&
         fs::file_size(path, error) > 0;
}

void require_same_onnx(const GivenOptions& given, const fs::path& path,
                       const std::vector<std::string>& models, bool fused) {
  if (!compares_onnx(given, path)) return;
  Names old;
  try {
    old = names_of({path.string()}, false);
  } catch (const Failure&) {
    return;  // no program can use it
  }
  require_common(fmt::format("'{}' contains another model", path.string()), old,
                 names_of(models, fused), "another --output_model");
}

fs::path popef_path(const GivenOptions& given, const std::string& input) {
  const fs::path path = given.has("output") ? fs::path(given.text("output"))
                                            : fs::path(given.text("output_dir", "./")) /
                                                  given.text("popef_name", "executable.popef");
  std::error_code error;
  poprt_executable* found = nullptr;
  if (given.has("overwrite") || !fs::exists(path, error)) return path;
  if (poprt_error* failure = poprt_executable_open(path.c_str(), &found)) {
    poprt_error_free(failure);  // require_separate_files() refuses a file that is no PopEF file
    return path;
  }
  const std::string other = poprt_executable_name(Executable(found).get());
  const std::string own = fs::path(input).stem().string();
  if (other != own)
    throw Failure(fmt::format(
        "'{}' contains the model '{}', not '{}'; give {}, or --overwrite", path.string(), other,
        own,
        given.has("output") ? "another --output"
                            : fmt::format("--popef_name {}.popef, another --output_dir", own)));
  return path;
}

ExecutableReplacement::ExecutableReplacement(const GivenOptions& given, const fs::path& path)
    : path_(resolve_links(path)),
      advice_(given.has("output") ? "another --output" : "--popef_name, another --output_dir") {
  std::error_code error;
  poprt_executable* found = nullptr;
  if (given.has("overwrite") || !fs::exists(path, error)) return;
  if (poprt_error* failure = poprt_executable_open(path.c_str(), &found)) poprt_error_free(failure);
  old_.reset(found);
}

fs::path ExecutableReplacement::temporary_path() const {
  return old_ ? fs::path(path_.string() + "-part") : path_;
}

void ExecutableReplacement::require_same_names(const std::set<std::string>& inputs,
                                               const std::set<std::string>& outputs,
                                               const std::string& name) const {
  require_common(
      fmt::format("'{}' contains another model with the name '{}'", path_.string(), name),
      {input_names(old_.get()), output_names(old_.get())}, {inputs, outputs}, advice_);
}

void ExecutableReplacement::require_same_model(const std::vector<std::string>& converted,
                                               bool fused) const {
  if (!old_) return;
  const Names names = names_of(converted, fused);
  require_same_names(names.inputs, names.outputs, poprt_executable_name(old_.get()));
}

void ExecutableReplacement::commit() {
  if (!old_) return;
  poprt_executable* made = nullptr;
  check(poprt_executable_open(temporary_path().c_str(), &made));
  const Executable now(made);
  std::error_code error;
  try {
    require_same_names(input_names(now.get()), output_names(now.get()),
                       poprt_executable_name(now.get()));
  } catch (const Failure&) {
    fs::remove(temporary_path(), error);
    throw;
  }
  const std::string before = source_hash(old_.get());
  if (!before.empty() && before != source_hash(now.get()))
    print_error("poprt: '{}' was compiled from another version of '{}' and is replaced\n",
                path_.string(), poprt_executable_name(now.get()));
  fs::rename(temporary_path(), path_, error);
  if (error) throw Failure(fmt::format("cannot write '{}': {}", path_.string(), error.message()));
}

}  // namespace poprt::cli
