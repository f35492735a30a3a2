#include "poprt/compile.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "common/abi.h"
#include "common/check_report.h"
#include "common/output_path.h"
#include "common/progress.h"
#include "common/scripts.h"
#include "common/temporary_folder.h"
#include "poprt/convert.h"
#include "poprt/executable_path.h"
#include "poprt/option_checks.h"
#include "poprt/output_folder.h"
#include "poprt/run_random.h"
#include "poprt/settings.h"
#include "poprt/show.h"
#include "poprt/source.h"

namespace poprt::cli {

namespace fs = std::filesystem;

namespace {

// Removes the converted model that this process wrote unless keep() is called, so that an error of
// the compilation leaves no file. A file that existed before is not removed.
class NewModel {
 public:
  explicit NewModel(const std::string& path) : path_(path), existed_(exists(path)) {}
  ~NewModel() {
    std::error_code error;
    if (!kept_ && !existed_) fs::remove(path_, error);
  }
  NewModel(const NewModel&) = delete;
  NewModel& operator=(const NewModel&) = delete;
  // From now on, the destructor does not remove the model. The first call prints the path of the
  // model if `writes` is set.
  void keep(bool writes) {
    if (!kept_ && writes) fmt::print("converted model: {}\n", path_.string());
    kept_ = true;
  }

 private:
  static bool exists(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
  }
  fs::path path_;
  bool existed_, kept_ = false;
};

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// Whether the path is that of a regular file, or nothing exists there.
bool may_be_renamed(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !fs::exists(status) || fs::is_regular_file(status);
}

// Moves all files of a folder to another one of the same file system.
void move_files(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path target = resolve_links(to / entry.path().filename());
    std::error_code error;
    fs::rename(entry.path(), target, error);
    if (error)
      throw Failure(fmt::format("cannot write '{}': {}", target.string(), error.message()));
  }
}

// Throws Usage if --input_shape names an input that the model does not have.
void check_shape_names(const GivenOptions& given, const std::string& input) {
  if (!given.has("input_shape") || given.has("allow_unknown_inputs")) return;
  std::vector<std::string> names;
  std::istringstream words(given.joined("input_shape"));
  for (std::string word; std::getline(words, word);)
    names.push_back(word.substr(0, word.find('=')));
  check_input_names(names, input, given.has("allow_symlinks"));
}

// Whether the conversion compares or calibrates, and writes files about it.
bool reports(const GivenOptions& given) {
  return given.has("check") || given.has("precision_compare") || given.has("calibration_with_data");
}

void print_reports(const GivenOptions& given, const fs::path& folder) {
  if (given.has("check")) fmt::print("{}", check_lines(folder));
  if (given.has("precision_compare")) fmt::print("{}", precision_lines(folder));
  if (given.text("precision", "") == "int8") fmt::print("{}", accuracy_lines(folder));
}

}  // namespace

void convert_and_compile(const GivenOptions& given) {
  ProgressBar bar(!given.has("disable_compilation_progress_bar"));
  const bool scripts = has_scripts(given);
  const Compiler compiler =
      CompilerSettings(scripts ? options_with_scripts(given) : given.for_library(), given, bar)
          .make();
  const bool exports = exports_popef(given), compiles = exports || given.has("run");
  if (scripts && compiles) check_shapes_of_scripts(given);
  const Compiler second = scripts && compiles
                              ? CompilerSettings(options_after_scripts(given), given, bar).make()
                              : nullptr;
  const Source source(given);
  const std::string& input = source.path();
  check_shape_names(given, input);
  show_model(given, compiler.get(), input);
  if (only_prints(given)) return;
  MadeFolder made(given.text("output_dir", "./"));
  const bool writes = writes_converted(given);
  const bool converts = writes || scripts || given.has("check");
  const std::string converted = converted_path(given, input);
  const std::string popef =
      exports ? popef_path(given, scripts && writes ? converted : input).string() : std::string();
  require_separate_files(given, {input}, writes ? converted : std::string(), popef);
  ExecutableReplacement replaced(given, popef);
  // Scripts and checks write a converted model that is not requested (`writes`) into a temporary
  // folder. A requested one is also there until it is clear that the old files may be replaced,
  // so that the files of another model stay.
  std::optional<TemporaryFolder> temporary;
  if (converts && !writes) temporary.emplace();
  if (writes && (replaced.compares() || compares_onnx(given, converted)) &&
      may_be_renamed(converted))
    temporary.emplace(folder_of(converted));
  NewModel written(converted);
  std::string model = input;
  if (converts) {
    bar.begin("PopRT conversion");
    const fs::path name = fs::path(writes ? converted : input).filename();
    const fs::path made_here = temporary ? temporary->path() / name : fs::path(converted);
    model = convert(given, compiler.get(), input, made_here.string());
    replaced.require_same_model({made_here.string()}, false);
    if (writes) require_same_onnx(given, converted, {made_here.string()}, false);
    if (temporary && writes) move_files(temporary->path(), folder_of(converted));
    if (scripts && writes) model = converted;
    bar.finish();
  }
  // A report of a check is printed even if the compilation fails, and its files stay.
  if (reports(given) || !compiles) written.keep(writes);
  print_reports(given, temporary && !writes ? temporary->path() : folder_of(converted));
  if (!exports) warn_of_executable(given);
  const poprt_compiler* last = scripts ? second.get() : compiler.get();
  if (exports) {
    bar.begin("Graph compilation");
    check(poprt_compiler_compile_to_popef(last, model.c_str(), replaced.temporary_path().c_str()));
    bar.finish();
    replaced.commit();
    written.keep(writes);
    fmt::print("executable: {} ({:.1f} MB)\n", popef,
               static_cast<double>(fs::file_size(popef)) / 1e6);
  }
  made.keep();
  if (!given.has("run")) return;
  const Estimate estimate = estimate_of(given, last, model);
  poprt_executable* executable = nullptr;
  if (exports) {
    check(poprt_executable_open(popef.c_str(), &executable));
  } else {
    bar.begin("Graph compilation");
    check(poprt_compiler_compile_file(last, model.c_str(), &executable));
    bar.finish();
    written.keep(writes);
  }
  run_random(Executable(executable).get(), given.has("apply_hcsr"));
  print_estimate(estimate.get());
}

}  // namespace poprt::cli
