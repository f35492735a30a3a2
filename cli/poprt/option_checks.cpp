#include "poprt/option_checks.h"

#include <fmt/format.h>

#include <string>

#include "common/arguments.h"

namespace poprt::cli {

bool exports_popef(const GivenOptions& given) {
  return given.has("export_popef") || given.has("popef_name") || given.has("output");
}

bool is_quiet(const GivenOptions& given) {
  const std::string level = given.text("logging_level");
  return level == "ERROR" || level == "CRITICAL";
}

void warn_of_executable(const GivenOptions& given) {
  for (const char* compiles : {"run", "check", "precision_compare"})
    if (given.has(compiles)) return;
  if (given.text("precision") == "bf16" && !is_quiet(given))
    print_error(
        "poprt: --precision bf16 has no effect without --export_popef, because it is for the "
        "executable and not for the converted model\n");
  for (const OptionInfo& option : option_tables().options)
    if (option.executable && given.has(option.name) && !is_quiet(given))
      print_error(
          "poprt: --{} has no effect without --export_popef, because it is for the executable and "
          "not for the converted model\n",
          option.name);
}

bool only_prints(const GivenOptions& given) {
  if (!given.has("show") && !given.has("show_io_stat")) return false;
  for (const char* name : {"export_popef", "popef_name", "output", "output_dir", "output_model",
                           "run", "check", "precision_compare"})
    if (given.has(name))
      print_error("poprt: --{} has no effect, because {} only prints\n", name,
                  given.has("show") ? "--show" : "--show_io_stat");
  return true;
}

void warn_of_options(const GivenOptions& given) {
  if (is_quiet(given)) return;
  for (const std::string& name : given.overridden())
    print_error("poprt: --{} is given several times; the last value is used: {}\n", name,
                given.text(name));
  if (given.has("estimate_target") && !given.has("estimate") && !given.has("run"))
    print_error(
        "poprt: --estimate_target has no effect without --estimate, which stores an estimate, or "
        "--run, which prints one, except on poprt_exec estimate of the executable\n");
  if (given.has("perf_tuner"))
    print_error("poprt: --perf_tuner has no effect: {}\n",
                option_tables().find("perf_tuner")->note);
}

void set_batch_axis(GivenOptions& given) {
  if (given.has("batch_size") && !given.has("batch_axis"))
    given.add(*option_tables().find("batch_axis"), {"0"});
}

bool writes_converted(const GivenOptions& given) {
  for (const char* name : {"keep_converted", "output_model", "output_dir", "export_popef",
                           "popef_name", "precision_compare", "calibration_with_data"})
    if (given.has(name)) return true;
  return !given.has("output") && !given.has("run");
}

void check_calibration(const GivenOptions& given) {
  if (given.has("calibration_with_data") && !given.has("precision"))
    throw Usage(
        "--calibration_with_data needs --precision fp8, fp8_weight or int8, and --data_preprocess "
        "FILE with samples of the inputs");
}

void check_popef_names(const GivenOptions& given) {
  for (const char* name : {"output", "popef_name"})
    if (const std::string value = given.text(name); given.has(name) && !value.ends_with(".popef"))
      throw Usage(
          fmt::format("--{}: expected a name that ends in .popef, found '{}'", name, value));
  if (const std::string model = given.text("output_model"); model.ends_with(".popef"))
    throw Usage(fmt::format(
        "--output_model names the converted ONNX model, found '{}'; --output names the executable",
        model));
  if (given.has("output") && given.has("popef_name"))
    throw Usage("--output and --popef_name: only one of them names the executable");
  if (given.text("popef_name").find('/') != std::string::npos)
    throw Usage(
        fmt::format("--popef_name: expected a name without a folder, found '{}'; --output "
                    "takes a path",
                    given.text("popef_name")));
}

}  // namespace poprt::cli
