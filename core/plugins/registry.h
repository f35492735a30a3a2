// The plug-ins of this process.
//
// libpoprt, libpoprt_compiler and poprt_exec each have a copy of this code. libpoprt loads
// libraries and hands what they are on to the compiler (adopt()); poprt_exec's developer commands
// load them once more. Nothing is ever unloaded, so pointers into the registry are good for ever.
// Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/contents.h"

// What init() of a library fills. The name is that of the C ABI's opaque type.
struct poprt_plugin_registry;

namespace poprt::plugins {

struct Library {
  std::string name, version, path, hash;
  std::deque<std::string> texts;  // that the following point to
  std::deque<poprt_pass_parameter> parameters;
  std::deque<std::vector<const poprt_pass_parameter*>> parameter_lists;
  std::vector<poprt_operator> operators;
  std::vector<poprt_pass> passes;
  std::vector<poprt_pattern> patterns;
  std::vector<poprt_transform> transforms;

  poprt_plugin_contents contents() const;
};

// Loads a library and calls its init(); nothing happens for one that is there. Throws what
// poprt_plugin_load (poprt/plugins.h) says, with the path in front.
void load(const std::string& path);
// Those of POPRT_PLUGINS, once. A library that cannot be loaded throws each time.
void load_environment();
// What another copy has loaded.
void adopt(const poprt_plugin_contents& contents);

// In the order in which they were loaded.
std::vector<const Library*> libraries();

struct OperatorRef {
  const poprt_operator* op = nullptr;
  const Library* library = nullptr;
  explicit operator bool() const { return op != nullptr; }
};
// Of any version.
OperatorRef find_operator(std::string_view domain, std::string_view name);

// All of them as poprt_plugin_list writes it.
std::string to_json();

}  // namespace poprt::plugins
