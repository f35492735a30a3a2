// poprt_exec: runs, measures, compares and analyses models. Each command is a file in exec/.
#include <fmt/format.h>

#include "common/arguments.h"
#include "common/file_signals.h"
#include "common/interrupt.h"
#include "exec/commands.h"

int main(int argc, char** argv) {
  using namespace poprt::cli;
  hold_standard_streams();
  remove_temporaries_when_interrupted();
  handle_file_signals();
  Command app("Runs, measures, compares and analyses models.", "poprt_exec");
  app.require_subcommand();
  app.set_version_flag("-v,--version", versions());
  std::function<int()> action;
#define POPRT_COMMAND(name) add_##name(app, action);
#include "exec/commands.inc"
#undef POPRT_COMMAND
  const std::string command = argc > 1 ? argv[1] : "";
  if (!command.empty() && command != "-h" && command != "--help" && command != "-v" &&
      command != "--version" && !app.has_command(command)) {
    print_error("poprt_exec: there is no {} '{}'; see poprt_exec --help\n",
                command[0] == '-' ? "option" : "command", printable(command));
    return 2;
  }
  const bool of_a_command = !command.empty() && command[0] != '-';
  return guarded((of_a_command ? "poprt_exec " + command : "poprt_exec").c_str(), [&] {
    if (const auto code = app.parse(argc, argv)) return *code;
    load_given_plugins();
    return action();
  });
}
