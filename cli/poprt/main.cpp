// poprt: converts ONNX models, compiles them to PopEF and runs them.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "common/abi.h"
#include "common/arguments.h"
#include "common/completion.h"
#include "common/config_yaml.h"
#include "common/file_signals.h"
#include "common/help_topics.h"
#include "common/interrupt.h"
#include "common/option_table.h"
#include "common/standard_streams.h"
#include "poprt/compile.h"
#include "poprt/fusion.h"
#include "poprt/list_passes.h"
#include "poprt/option_checks.h"
#include "poprt/shard_only.h"
#include "poprt/source.h"

namespace poprt::cli {
namespace {

// Handles --version, --print_completion and --list_all_passes. Returns whether one of them was
// given.
bool handle_information_options(const GivenOptions& given) {
  if (given.has("version"))
    fmt::print("{}\n", versions());
  else if (given.has("print_completion"))
    fmt::print("{}", completion(given.text("print_completion")));
  else if (given.has("list_all_passes"))
    list_passes(given);
  else
    return false;
  return true;
}

// Adds the texts that --help shows in addition to the options.
void describe(Command& app) {
  app.start_here({"--input_model", "--output", "--run", "--show", "--input_shape", "--batch_size",
                  "--precision", "--output_dir", "--export_popef", "--check", "--config_yaml",
                  "--help", "--help-all", "--version"});
  app.example("poprt -i model.onnx --show", "Print the inputs and outputs");
  app.example("poprt -i model.onnx --batch_size 8 --run", "Compile and measure with random inputs");
  app.example("poprt -i model.onnx --input_shape x=1,3,224,224 --precision fp16 -o out.popef",
              "Write an executable in half precision for one shape");
  app.footer(
      "poprt help TOPIC prints a document: precision, shapes, fusion, generation, estimate, cache, "
      "...; poprt help lists them. poprt_exec runs, measures and compares models.");
}

int main_checked(int argc, char** argv) {
  if (const auto code = handle_help("poprt", argc, argv)) return *code;
  Command app("Converts ONNX models for the (emulated) IPU, compiles them to PopEF and runs them.",
              "poprt");
  Command* tensorflow =
      app.add_command("tf2onnx", "Options of --framework tensorflow; must be last");
  describe(app);
  GivenOptions given;
  given.add_to(app, option_tables().options);
  given.add_to(*tensorflow, option_tables().tf2onnx);
  if (const auto code = app.parse(argc, argv)) return *code;
  given.take();
  std::vector<GivenOptions> models;
  if (given.has("config_yaml")) models = read_config_yaml(given.text("config_yaml"), given);
  if (given.has("manual_sharding_config"))
    read_sharding_yaml(given.text("manual_sharding_config"), given);
  for (size_t i = 0; i < models.size(); i++)
    if (models[i].has("manual_sharding_config"))
      for_model(i, models[i],
                [&] { read_sharding_yaml(models[i].text("manual_sharding_config"), models[i]); });
  given.move_pass(kComparison, "precision_compare");
  set_batch_axis(given);
  if (models.empty()) check_calibration(given);
  given.check_needs();
  for (size_t i = 0; i < models.size(); i++)
    for_model(i, models[i], [&] {
      models[i].move_pass(kComparison, "precision_compare");
      set_batch_axis(models[i]);
      check_calibration(models[i]);
      models[i].check_needs();
    });

  if (given.has("logging_level")) check(poprt_log_set_level(given.text("logging_level").c_str()));
  if (handle_information_options(given)) return 0;
  check_popef_names(given);
  if (given.has("embed_source") && !exports_popef(given))
    throw Usage(
        "--embed_source needs an executable: give --export_popef, --output or --popef_name");
  warn_of_options(given);
  if (!models.empty()) {
    Fusion(given, models).run();
    return 0;
  }
  if (!given.has("input_model"))
    throw Usage("expected --input_model, found none: give --input_model PATH");
  const bool from_tensorflow = given.text("framework") == "tensorflow";
  if (tensorflow->parsed() && !from_tensorflow) throw Usage("tf2onnx needs --framework tensorflow");
  if (from_tensorflow && !given.has("saved_model"))
    throw Usage("--framework tensorflow requires a SavedModel: give tf2onnx --saved_model");
  if (given.has("only_manual_sharding")) {
    if (!given.has("sharding_info") && !given.has("pipelining_info"))
      throw Usage("--only_manual_sharding needs --manual_sharding_config");
    shard_only(given);
    return 0;
  }
  convert_and_compile(given);
  return 0;
}

}  // namespace
}  // namespace poprt::cli

int main(int argc, char** argv) {
  poprt::cli::hold_standard_streams();
  poprt::cli::remove_temporaries_when_interrupted();
  poprt::cli::handle_file_signals();
  return poprt::cli::guarded("poprt", [&] {
    try {
      return poprt::cli::main_checked(argc, argv);
    } catch (const poprt::cli::Usage& e) {
      throw poprt::cli::Usage(
          poprt::cli::with_typed_names(poprt::cli::with_yaml_line(e.what()), argc, argv));
    } catch (const poprt::cli::Failure& e) {
      throw poprt::cli::Failure(poprt::cli::with_piped_name(e.what()));
    }
  });
}
