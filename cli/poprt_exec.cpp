// poprt_exec: runs, measures, compares and takes apart models. One file per command in exec/.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "common/abi.h"
#include "exec/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Runs, measures, compares and takes apart models.", "poprt_exec");
  app.require_subcommand(1);
  std::function<int()> action;
  poprt::cli::add_run(app, action);
  poprt::cli::add_bench(app, action);
  poprt::cli::add_compare(app, action);
  poprt::cli::add_opt(app, action);
  poprt::cli::add_ops(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return action();
  } catch (const std::exception& e) {
    fmt::print(stderr, "poprt_exec: {}\n", e.what());
    return 1;
  }
}
