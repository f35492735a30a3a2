#include "common/scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/abi.h"
#include "common/child.h"
#include "common/interrupt.h"
#include "common/json.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kScriptOptions[] = {"custom_pass_config", "custom_shape_inference"};

// The program that Python runs.
constexpr const char* kProgram = R"python(import json, sys
try:
    from poprt import _scripts
except ImportError as error:
    with open(sys.argv[2], "w") as file:
        json.dump({"import": str(error), "package": error.name or ""}, file)
else:
    _scripts.main()
)python";

// Returns the given option as users type it, for errors.
std::string purpose(const GivenOptions& given) {
  return std::string("--") + (given.has(kScriptOptions[0]) ? kScriptOptions[0] : kScriptOptions[1]);
}

// Sends a request to package poprt in Python and returns its answer.
Json request_answer(const GivenOptions& given, Json request) {
  request["scripts"] = Json::array();
  for (const char* option : kScriptOptions)
    for (const std::string& path : given.names(option)) request["scripts"].push_back(path);
  request["logging_level"] = given.text("logging_level", "WARNING");
  const TemporaryFolder folder;
  const std::filesystem::path question = folder.path() / "request.json",
                              answer = folder.path() / "answer.json";
  std::ofstream(question) << to_text(request);
  const std::string option = purpose(given);
  std::vector<std::string> words = python_program(kProgram);
  words.insert(words.end(), {question.string(), answer.string()});
  const int code = run_program(words, option);
  Json found = read_json(answer);
  if (!found.is_object())
    throw Failure(fmt::format("{}: {} ended early with code {}", option, python(), code));
  if (found.contains("import")) {
    const auto package = found.value("package", std::string());
    if (package == "poprt" || package.starts_with("poprt."))
      throw Failure(
          fmt::format("{}: {} has no package poprt: python3 -m pip install poprt-VERSION.whl, or "
                      "set POPRT_PYTHON to an interpreter that has it",
                      option, python()));
    throw Failure(fmt::format("{}: {} cannot import poprt: {}", option, python(),
                              found["import"].get<std::string>()));
  }
  if (found.contains("error")) {
    const std::string text = option + ": " + found["error"].get<std::string>();
    if (found.value("usage", false)) throw Usage(text);
    throw Failure(text);
  }
  return found;
}

NamedOptions without(NamedOptions named, std::initializer_list<const char*> names) {
  std::erase_if(named, [&](const auto& option) {
    return std::ranges::find(names, option.first) != names.end();
  });
  return named;
}

// Whether the compilation of a model that was converted with the option needs the option, too. The
// others are complete in the converted model.
bool acts_after_conversion(const OptionInfo& option, const std::string& precision) {
  // Another conversion to fp16 changes nothing if it leaves out the same operators. One to 8 bits
  // would need calibration.
  if (option.name == "precision" || option.goes_with == "precision")
    return !precision.starts_with("fp8") && precision != "int8";
  constexpr const char* kAlso[] = {"allow_symlinks", "embed_source", "skip_passes", "strict"};
  return option.executable || option.group == "Compilation" || option.effect == "recorded" ||
         std::ranges::find(kAlso, option.name) != std::end(kAlso);
}

}  // namespace

bool has_scripts(const GivenOptions& given) {
  return std::ranges::any_of(kScriptOptions, [&](const char* name) { return given.has(name); });
}

std::vector<ScriptPass> passes_of_scripts(const GivenOptions& given) {
  std::vector<ScriptPass> passes;
  if (!has_scripts(given)) return passes;
  const Json answer = request_answer(given, Json::object());
  for (const Json& pass : answer["passes"]) passes.push_back({pass["name"], pass["summary"]});
  return passes;
}

void convert_with_scripts(const GivenOptions& given, const std::string& source,
                          const std::string& target) {
  Json request = {{"source", source},
                  {"target", target},
                  {"passes", given.names("passes")},
                  {"options", Json::object()}};
  for (const auto& options :
       {without(given.for_library(), {"passes"}), given.defaults_of_command()})
    for (const auto& [name, value] : options) request["options"][name] = value;
  std::error_code error;
  const RemovedWithUs part(std::filesystem::weakly_canonical(target, error).string() + ".part");
  request_answer(given, request);
}

NamedOptions options_with_scripts(const GivenOptions& given) {
  NamedOptions named = without(given.for_library(), {"passes", "skip_passes"});
  poprt_string* raw = nullptr;
  check(poprt_compiler_list_passes(&raw));
  const std::string known = "\n" + take(raw);
  std::string skipped;
  for (const std::string& name : given.names("skip_passes"))
    if (known.find("\n" + name + " ") != std::string::npos)
      skipped += (skipped.empty() ? "" : ",") + name;
  if (!skipped.empty()) named.emplace_back("skip_passes", skipped);
  return named;
}

NamedOptions options_after_scripts(const GivenOptions& given) {
  const std::string precision = given.text("precision");
  NamedOptions kept;
  for (const auto& [name, value] : options_with_scripts(given))
    if (acts_after_conversion(*option_tables().find(name), precision))
      kept.emplace_back(name, value);
  return kept;
}

void check_shapes_of_scripts(const GivenOptions& given) {
  if (const std::string word = given.word_with_several_shapes(); !word.empty())
    throw Usage(
        fmt::format("{}: passes and shape functions in Python convert a model at one shape, and "
                    "--input_shape {} gives several; give one shape",
                    purpose(given), word));
}

}  // namespace poprt::cli
