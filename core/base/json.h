// JSON of nlohmann/json with its parser and printer compiled once: instantiated in every file that
// reads or writes a line of JSON, they are most of what that file takes to build.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace poprt {

// Throws nlohmann::json::parse_error where the text is no JSON.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);  // keeps the order of keys

// The same without exceptions: the result is_discarded() where the text is no JSON.
nlohmann::json try_parse_json(std::string_view text);
nlohmann::ordered_json try_parse_ordered_json(std::string_view text);

// One line, or lines indented by `indent` blanks. Names in models need not be UTF-8, JSON must:
// what is not becomes U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace poprt
