// Values of options, as texts.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "option_lists.h"
#include "option_table.h"

namespace poprt::capi {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whether a list that is separated by commas has the word.
bool is_one_of(std::string_view list, std::string_view word);

// A value as it is kept: flags "1" or "0" ("True" or "False" as a field), names without blanks.
// Throws invalid_argument that names the option when it is of another kind, or out of range.
std::string checked_value(const OptionRow& row, std::string_view value);
std::string checked_value(const FieldRow& row, std::string_view value);

// Throws invalid_argument when CompilerOptions has no such field.
const FieldRow& compiler_field(std::string_view name);

// KEY=VAL, at the first '='.
std::pair<std::string_view, std::string_view> split_pair(std::string_view word,
                                                         std::string_view option);
// NAME=d0,d1,... with one shape or several, separated by slashes.
std::pair<std::string, std::vector<std::vector<int64_t>>> parse_shapes(std::string_view word);
// Lines of KEY=VAL of pack_args: known keys, each once, and those that it must have.
void check_pack_args(std::string_view lines);

// OP=FACTOR[/MODE[/KEEP]] of serialize_matmul, MATMUL/ADD=FACTOR of serialize_matmul_add.
void check_serialized(std::string_view option, std::string_view word);

}  // namespace poprt::capi
