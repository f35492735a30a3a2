// poprt_exec: runs, measures, compares and analyses models. Each command is a file in exec/.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/file_signals.h"
#include "common/help_topics.h"
#include "common/interrupt.h"
#include "exec/commands.h"
#include "kernels/common/isa_builds.h"

namespace {

// Describes a command that does not exist, with the one that the user probably means.
std::string unknown_command(const poprt::cli::Command& app, const std::string& command) {
  constexpr std::pair<const char*, const char*> kOtherNames[] = {
      {"perf", "bench"},       {"benchmarks", "bench"}, {"measure", "bench"}, {"infer", "run"},
      {"predict", "run"},      {"execute", "run"},      {"diff", "compare"},  {"show", "inspect"},
      {"dump", "inspect"},     {"optimize", "opt"},     {"optimise", "opt"},  {"operators", "ops"},
      {"shard", "auto_shard"}, {"chat", "generate"},    {"monitor", "top"},   {"info", "inspect"},
      {"view", "inspect"},     {"summary", "inspect"},  {"list", "inspect"}};
  const auto names = app.command_names();
  std::string similar = poprt::cli::similar_word(names, command);
  for (const auto& [other, name] : kOtherNames)
    if (command == other) similar = name;
  if (command == "profile") similar = "run --profile";
  std::string text = fmt::format("there is no command '{}'", command);
  if (!similar.empty()) text += fmt::format(", did you mean {}?", similar);
  if (command == "convert" || command == "compile")
    text += ", poprt -i MODEL converts and compiles";
  if (command == "serve") text += ", poprt_serve serves models over HTTP and gRPC";
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace poprt::cli;
  hold_standard_streams();
  using poprt::kernels::IsaBuilds;
  const auto* const builds = static_cast<const IsaBuilds*>(poprt_private_isa_builds());
  if (!poprt::kernels::borrow_isa_builds(*builds)) {
    print_error(
        "poprt_exec: libpoprt.so.1 comes from another build; install both from one build\n");
    return 1;
  }
  remove_temporaries_when_interrupted();
  handle_file_signals();
  Command app("Runs, measures, compares and analyses models.", "poprt_exec");
  app.require_subcommand();
  app.set_version_flag("-v,--version", versions());
  std::function<int()> action;
#define POPRT_COMMAND(name) add_##name(app, action);
#include "exec/commands.inc"
#undef POPRT_COMMAND
  app.footer(
      "poprt_exec COMMAND --help describes a command, and poprt_exec help TOPIC prints a document: "
      "precision, shapes, fusion, generation, estimate, cache, ...");
  app.example("poprt_exec run model.onnx --random", "Compile a model and run it on random inputs");
  app.example("poprt_exec bench model.popef --clients 2", "Measure latency and throughput");
  app.example("poprt_exec inspect model.popef", "Show what a file contains");
  std::string command = argc > 1 ? argv[1] : "";
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  const HelpTopic* topic = argc == 3 ? find_topic(argv[2]) : nullptr;
  const bool listed = topic && std::string_view(argv[2]) == topic->name;  // by "help"
  if (command == "help" && argc == 3 && !listed && app.has_command(argv[2])) {
    command = argv[2];  // "help bench" is "bench --help"
    words = {argv[0], argv[2], help.data()};
  }
  const std::vector<std::string> own = {"",           "help", "-h",       "--help",
                                        "--help-all", "-v",   "--version"};
  // parse() reports options that are before a command, because they may be options of it.
  const bool before_command = command.starts_with("--") &&
                              std::any_of(argv + std::min(argc, 2), argv + argc,
                                          [&](const char* word) { return app.has_command(word); });
  if (std::ranges::count(own, command) == 0 && !app.has_command(command) && !before_command) {
    print_error("poprt_exec: {}; see poprt_exec --help\n",
                printable(command[0] == '-' ? fmt::format("there is no option '{}'", command)
                                            : unknown_command(app, command)));
    return 2;
  }
  const std::string selected = app.selected(static_cast<int>(words.size()), words.data());
  return guarded(selected.c_str(), [&] {
    if (command == "help") return *handle_help("poprt_exec", argc, argv);
    if (const auto code = app.parse(static_cast<int>(words.size()), words.data())) return *code;
    load_given_plugins();
    return action();
  });
}
