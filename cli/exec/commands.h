// The commands of poprt_exec, one file each in this folder: exec/foo.cpp defines add_foo, which
// adds its sub-command and sets `action` when that is chosen. The list is made from the folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace poprt::cli {

class Command;

#define POPRT_COMMAND(name) void add_##name(Command& app, std::function<int()>& action);
#include "exec/commands.inc"
#undef POPRT_COMMAND

// Options that every command which may compile has.
struct CompileSettings;
void add_compile_options(Command& command, CompileSettings& settings);

// --plugins, which load_given_plugins() loads before the command runs, those of POPRT_PLUGINS
// first.
void add_plugin_option(Command& command);
void load_given_plugins();
const std::vector<std::string>& plugins_given();

}  // namespace poprt::cli
