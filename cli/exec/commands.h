// The commands of poprt_exec, one file per command in this folder. exec/foo.cpp defines add_foo,
// which adds its sub-command and sets `action` if the user selects it. CMake generates the list
// from the folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace poprt::cli {

class Command;

#define POPRT_COMMAND(name) void add_##name(Command& app, std::function<int()>& action);
#include "exec/commands.inc"
#undef POPRT_COMMAND

struct CompileSettings;
// Adds the options of every command that may compile. `precisions` are the types that --precision
// takes. `axis_alone` as for add_batch_options().
void add_compile_options(Command& command, CompileSettings& settings,
                         const std::vector<std::string>& precisions = {"fp32", "fp16"},
                         bool axis_alone = false);

// Adds --execution_precision, an option of the runner.
void add_precision_option(Command& command, std::string& precision);

// Adds --plugins. load_given_plugins() loads its libraries before the command runs, after those of
// POPRT_PLUGINS.
void add_plugin_option(Command& command);
void load_given_plugins();
const std::vector<std::string>& plugins_given();

}  // namespace poprt::cli
