// Loads plug-ins: libraries with operators, passes, patterns and transforms (poprt/plugin.h).
#pragma once

#include <string>

#include "poprt/error.hpp"
#include "poprt/plugins.h"

namespace poprt {
inline namespace v1 {

// Loads a library for all compilers and runners of the process; see poprt_plugin_load. Throws
// poprt::Error. Since 1.0.
inline void loadPlugin(const std::string& path) {
  detail::check(poprt_plugin_load(detail::text(path, "path")));
}

// Returns the loaded plug-ins as JSON. Since 1.0.
inline std::string listPlugins() {
  poprt_string* text = nullptr;
  detail::check(poprt_plugin_list(&text));
  return detail::take(text);
}

}  // namespace v1
}  // namespace poprt
