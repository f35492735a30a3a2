// --json: the standard output gets one complete document when the command succeeds, and nothing
// when it fails.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace poprt::cli {

// Text that is no UTF-8 (names in files, elements of text tensors) is shown with U+FFFD in its
// place.
inline std::string to_text(const nlohmann::json& j, int indent = -1) {
  return j.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline void print_json(const nlohmann::json& j) { fmt::print("{}\n", to_text(j, 2)); }

}  // namespace poprt::cli
