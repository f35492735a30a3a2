// The parser and the printer of nlohmann/json, compiled once. Instantiating them in every file that
// reads or writes JSON would dominate the build time of those files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace poprt {

// Throws nlohmann::json::parse_error if the text is not JSON or nests lists and objects deeper than
// 1000, and nlohmann::json::out_of_range for a number beyond double, such as 1e400.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);  // keeps the order of keys

// The same without exceptions: is_discarded() of the result is true where parse_json() throws.
nlohmann::json try_parse_json(std::string_view text);
nlohmann::ordered_json try_parse_ordered_json(std::string_view text);

// Returns one line if `indent` is negative, else lines that each level indents by `indent` blanks.
// JSON must be UTF-8, but names in models need not be: invalid bytes become U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

// Read a whole number, or a list of them, from JSON that a file contains. get<>() would convert any
// number, even 1e300. Throw data_loss for other values and for numbers that do not fit into an
// int64_t.
template <class Json>
int64_t whole_number(const Json& json) {
  const bool fits = json.is_number_unsigned()
                        ? json.template get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                        : json.is_number_integer();
  if (!fits) fail(ErrorCode::data_loss, "expected a whole number, found {}", json_text(json));
  return json.template get<int64_t>();
}
template <class Json>
std::vector<int64_t> whole_numbers(const Json& json) {
  std::vector<int64_t> numbers;
  if (!json.is_array()) fail(ErrorCode::data_loss, "expected whole numbers, found no list");
  for (const auto& item : json) numbers.push_back(whole_number(item));
  return numbers;
}

}  // namespace poprt
