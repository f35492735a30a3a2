// Parses and prints JSON. The library is compiled once for all commands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace poprt::cli {

// Parses text from the library. Throws if it is not JSON.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);

// Reads a file. The result is_discarded() if the file is not JSON or cannot be read.
nlohmann::json read_json(const std::string& path);

// Bytes that are not UTF-8 (in names from files, or elements of text tensors) are printed as
// U+FFFD.
std::string to_text(const nlohmann::json& json, int indent = -1);
std::string to_text(const nlohmann::ordered_json& json, int indent = -1);

// For --json: prints one complete document. A command calls it only after it has succeeded.
void print_json(const nlohmann::json& json);

}  // namespace poprt::cli
