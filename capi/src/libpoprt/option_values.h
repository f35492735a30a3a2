// Values of options as text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "option_lists.h"
#include "poprt_options.h"

namespace poprt::capi {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns whether a list separated by commas contains the word.
bool is_one_of(std::string_view list, std::string_view word);

// Returns a value in its stored form: flags "1" or "0" ("True" or "False" as a field), names
// without blanks. Throws invalid_argument with the name of the option if the value is of another
// kind or out of range.
std::string checked_value(const OptionRow& row, std::string_view value);
std::string checked_value(const FieldRow& row, std::string_view value);

// Throws invalid_argument if CompilerOptions has no such field.
const FieldRow& compiler_field(std::string_view name);

// Splits KEY=VAL at the first '='.
std::pair<std::string_view, std::string_view> split_pair(std::string_view word,
                                                         std::string_view option);
// Parses NAME=d0,d1,... (or NAME=[] for a scalar) with one or several shapes, separated by slashes.
std::pair<std::string, std::vector<std::vector<int64_t>>> parse_shapes(std::string_view word);
// Checks lines of KEY=VAL of pack_args: keys are known and unique, required keys are present, and
// sizes are positive numbers.
void check_pack_args(std::string_view lines);

// Checks OP=FACTOR[/MODE[/KEEP]] of serialize_matmul, and MATMUL/ADD=FACTOR of
// serialize_matmul_add.
void check_serialized(std::string_view option, std::string_view word);

}  // namespace poprt::capi
