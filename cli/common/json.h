// JSON's parser and printer compiled once for all commands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace poprt::cli {

// What the library made. Throws where it is no JSON.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);

// What a file holds: is_discarded() where that is no JSON.
nlohmann::json read_json(const std::string& path);

// Text that is no UTF-8 (names in files, elements of text tensors) is shown with U+FFFD in its
// place.
std::string to_text(const nlohmann::json& json, int indent = -1);
std::string to_text(const nlohmann::ordered_json& json, int indent = -1);

// --json: the standard output gets one complete document when the command succeeds, and nothing
// when it fails.
void print_json(const nlohmann::json& json);

}  // namespace poprt::cli
