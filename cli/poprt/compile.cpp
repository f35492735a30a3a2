#include "poprt/compile.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "common/abi.h"
#include "common/check_report.h"
#include "common/progress.h"
#include "common/scripts.h"
#include "poprt/convert.h"
#include "poprt/given.h"
#include "poprt/made_folder.h"
#include "poprt/replaced.h"
#include "poprt/run_random.h"
#include "poprt/settings.h"
#include "poprt/show.h"
#include "poprt/source.h"

namespace poprt::cli {

namespace fs = std::filesystem;

void convert_and_compile(const GivenOptions& given) {
  ProgressBar bar(!given.has("disable_compilation_progress_bar"));
  const bool scripts = has_scripts(given);
  const Compiler compiler =
      CompilerSettings(scripts ? options_with_scripts(given) : given.for_library(), given, bar)
          .make();
  const Source source(given);
  const std::string& input = source.path();
  show_model(given, compiler.get(), input);
  if (only_prints(given)) return;
  MadeFolder made(given.text("output_dir", "./"));
  const bool exports = exports_popef(given);
  const std::string converted = converted_path(given, input);
  const std::string popef =
      exports ? popef_path(given, scripts ? converted : input).string() : std::string();
  bar.begin("PopRT conversion");
  const std::string model = convert(given, compiler.get(), input, converted);
  bar.finish();
  made.keep();
  fmt::print("converted model: {}\n", converted);
  const fs::path folder = fs::path(converted).parent_path();
  if (given.has("check")) fmt::print("{}", check_lines(folder));
  if (given.has("precision_compare")) fmt::print("{}", precision_lines(folder));
  if (given.text("precision", "") == "int8") fmt::print("{}", accuracy_lines(folder));
  if (!exports) warn_of_executable(given);
  const Compiler second =
      scripts ? CompilerSettings(options_after_scripts(given), given, bar).make() : nullptr;
  const poprt_compiler* last = scripts ? second.get() : compiler.get();
  if (exports) {
    bar.begin("Graph compilation");
    Replaced replaced(given, popef);
    check(poprt_compiler_compile_to_popef(last, model.c_str(), replaced.temporary_path().c_str()));
    bar.finish();
    replaced.commit();
    fmt::print("executable: {} ({:.1f} MB)\n", popef,
               static_cast<double>(fs::file_size(popef)) / 1e6);
  }
  if (!given.has("run")) return;
  const Estimate estimate = estimate_of(given, last, model);
  poprt_executable* executable = nullptr;
  if (exports) {
    check(poprt_executable_open(popef.c_str(), &executable));
  } else {
    bar.begin("Graph compilation");
    check(poprt_compiler_compile_file(last, model.c_str(), &executable));
    bar.finish();
  }
  run_random(Executable(executable).get());
  print_estimate(estimate.get());
}

}  // namespace poprt::cli
