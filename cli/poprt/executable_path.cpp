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

}  // namespace

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
  const auto require_common = [&](const char* what, const std::set<std::string>& before,
                                  const std::set<std::string>& after) {
    const auto kept = [&](const std::string& n) { return after.contains(n); };
    if (before.empty() || std::ranges::any_of(before, kept)) return;
    throw Failure(fmt::format(
        "'{}' contains another model with the name '{}', whose {}s are {}, not {}; "
        "give {}, or --overwrite",
        path_.string(), name, what, fmt::join(before, ", "), fmt::join(after, ", "), advice_));
  };
  require_common("input", input_names(old_.get()), inputs);
  require_common("output", output_names(old_.get()), outputs);
}

void ExecutableReplacement::require_same_model(const std::vector<std::string>& converted,
                                               bool fused) const {
  if (!old_) return;
  std::set<std::string> inputs, outputs;
  for (size_t i = 0; i < converted.size(); i++) {
    const std::string prefix = fused ? fmt::format("graph{}/", i) : std::string();
    const ModelNames names = model_names(converted[i], false);
    for (const std::string& name : names.inputs) inputs.insert(prefix + name);
    for (const std::string& name : names.outputs) outputs.insert(prefix + name);
  }
  require_same_names(inputs, outputs, poprt_executable_name(old_.get()));
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
