// The plug-ins of this process.
//
// libpoprt, libpoprt_compiler and poprt_exec each have a copy of this code. libpoprt loads plug-ins
// and passes their contents on to the compiler library (adopt()); the developer commands of
// poprt_exec load them again. Nothing is ever unloaded, so pointers into the registry stay valid.
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/contents.h"

// The argument of a plug-in's init(), through which the plug-in registers its contents: an opaque
// type of the C ABI.
struct poprt_plugin_registry;

namespace poprt::plugins {

struct Library {
  std::string name, version, path, hash;
  std::deque<std::string> texts;  // storage for the texts of the members below
  std::deque<poprt_pass_parameter> parameters;
  std::deque<std::vector<const poprt_pass_parameter*>> parameter_lists;
  std::vector<poprt_operator> operators;
  std::vector<poprt_pass> passes;
  std::vector<poprt_pattern> patterns;
  std::vector<poprt_transform> transforms;

  poprt_plugin_contents contents() const;
};

// Loads a library and calls its init(). Has no effect if the library is loaded already. Throws the
// errors of poprt_plugin_load (poprt/plugins.h), with the path at the beginning of the message.
// `check` is null, or throws if the contents must not be registered.
void load(const std::string& path, void (*check)(const poprt_plugin_contents& contents) = nullptr);
// Loads the libraries of POPRT_PLUGINS that are not loaded yet. Throws like load(), with the
// context POPRT_PLUGINS. While a library cannot be loaded, every call throws, not only the first
// one.
void load_environment();
// Registers a plug-in that another copy of this code has loaded. Has no effect if its path is
// registered already. Throws already_exists if another plug-in has one of its names.
void adopt(const poprt_plugin_contents& contents);

// The loaded libraries, in the order in which they were loaded.
std::vector<const Library*> libraries();

struct OperatorRef {
  const poprt_operator* op = nullptr;
  const Library* library = nullptr;
  explicit operator bool() const { return op != nullptr; }
};
// Finds an operator of any version. The result is empty if there is none.
OperatorRef find_operator(std::string_view domain, std::string_view name);

// All plug-ins, in the form of poprt_plugin_list.
std::string to_json();

}  // namespace poprt::plugins
