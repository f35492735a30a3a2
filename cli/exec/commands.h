// The commands of poprt_exec. Each adds its sub-command and sets `action` when it is chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace poprt::cli {

void add_run(CLI::App& app, std::function<int()>& action);
void add_bench(CLI::App& app, std::function<int()>& action);
void add_compare(CLI::App& app, std::function<int()>& action);
void add_opt(CLI::App& app, std::function<int()>& action);
void add_ops(CLI::App& app, std::function<int()>& action);
void add_passes(CLI::App& app, std::function<int()>& action);
void add_cache(CLI::App& app, std::function<int()>& action);
void add_top(CLI::App& app, std::function<int()>& action);
void add_inspect(CLI::App& app, std::function<int()>& action);

// Options that every command which may compile has.
struct CompileSettings;
void add_compile_options(CLI::App& command, CompileSettings& settings);

}  // namespace poprt::cli
