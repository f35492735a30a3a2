#include "option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "option_lists.h"

namespace poprt::capi {
namespace {

// Returns "a, b or c" for "a,b,c".
std::string joined_choices(std::string_view choices) {
  std::string text(choices);
  const size_t last = text.rfind(',');
  if (last != std::string::npos) text.replace(last, 1, " or ");
  for (size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += 2)
    text.replace(at, 1, ", ");
  return text;
}

template <class T, class Row>
void check_range(const Row& row, std::string_view label, std::string_view value) {
  const auto number = parse_number<T>(value);
  const double x = number ? static_cast<double>(*number) : NAN;
  if (number && std::isfinite(x) && x >= row.least && x <= row.most &&
      !(row.above_least && x == row.least))
    return;
  std::string range;
  if (std::isfinite(row.least))
    range += fmt::format(" {} {}", row.above_least ? "above" : "of at least", row.least);
  if (std::isfinite(row.most)) range += fmt::format(" and at most {}", row.most);
  fail(ErrorCode::invalid_argument, "{}: expected {}{}, found '{}'", label,
       std::is_integral_v<T> ? "a whole number" : "a number", range, value);
}

template <class Row>
std::string checked(const Row& row, const std::string& label, std::string_view value) {
  switch (row.kind) {
    case OptionKind::flag:
      if (value == "1" || value == "true" || value == "True") return "1";
      if (value == "0" || value == "false" || value == "False") return "0";
      fail(ErrorCode::invalid_argument, "{}: expected True or False, found '{}'", label, value);
    case OptionKind::integer: check_range<int64_t>(row, label, value); break;
    case OptionKind::number: check_range<double>(row, label, value); break;
    case OptionKind::text:
      if (!row.choices.empty() && !is_one_of(row.choices, value))
        fail(ErrorCode::invalid_argument, "{}: expected {}, found '{}'", label,
             joined_choices(row.choices), value);
      break;
    case OptionKind::names:
    case OptionKind::words: break;
  }
  if (value.empty()) fail(ErrorCode::invalid_argument, "{}: the value is empty", label);
  return std::string(value);
}

}  // namespace

bool is_one_of(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

std::string checked_value(const OptionRow& row, std::string_view value) {
  std::string text = checked(row, fmt::format("`{}`", row.name), value);
  if (row.kind != OptionKind::names) return text;
  std::string list;
  for (const std::string& name : split_names(text, row.name))
    list += (list.empty() ? "" : ",") + name;
  return list;
}

std::string checked_value(const FieldRow& row, std::string_view value) {
  std::string text = checked(row, fmt::format("`compiler_options`: {}", row.name), value);
  if (row.kind == OptionKind::flag) return text == "1" ? "True" : "False";
  return text;
}

const FieldRow& compiler_field(std::string_view name) {
  const auto fields = compiler_fields();
  const auto row = std::ranges::find(fields, name, &FieldRow::name);
  if (row == fields.end())
    fail(ErrorCode::invalid_argument, "`compiler_options`: CompilerOptions has no field '{}'",
         name);
  return *row;
}

std::pair<std::string_view, std::string_view> split_pair(std::string_view word,
                                                         std::string_view option) {
  const size_t at = word.find('=');
  if (at == std::string_view::npos || at == 0 || at + 1 == word.size())
    fail(ErrorCode::invalid_argument, "`{}`: expected KEY=VAL, found '{}'", option, word);
  return {word.substr(0, at), word.substr(at + 1)};
}

void check_pack_args(std::string_view lines) {
  constexpr std::string_view kKeys =
      "max_valid_num,segment_max_size,dynamic_groups,head_pattern,enable_double_batch_unpack,"
      "efficiency_priority";
  const auto is_number = [](std::string_view text) {
    const auto n = parse_number<int64_t>(text);
    return n && *n >= 1 && *n <= 1 << 20;
  };
  std::set<std::string_view> given;
  for (const std::string_view word : split_lines(lines, "pack_args")) {
    const auto [key, value] = split_pair(word, "pack_args");
    if (!is_one_of(kKeys, key))
      fail(ErrorCode::invalid_argument, "`pack_args`: there is no key '{}'; keys are {}", key,
           kKeys);
    if (!given.insert(key).second)
      fail(ErrorCode::invalid_argument, "`pack_args`: {} is given twice", key);
    if (key == "max_valid_num" && !is_number(value))
      fail(ErrorCode::invalid_argument,
           "`pack_args`: max_valid_num: expected a whole number from 1 to {}, found '{}'", 1 << 20,
           value);
    if (key == "segment_max_size")
      for (std::string_view rest = value;;) {
        const size_t end = std::min(rest.find('+'), rest.size());
        if (!is_number(rest.substr(0, end)))
          fail(ErrorCode::invalid_argument,
               "`pack_args`: segment_max_size: expected sizes from 1 on, joined by + when a "
               "sequence has several parts, found '{}'",
               value);
        if (end == rest.size()) break;
        rest.remove_prefix(end + 1);
      }
  }
  for (const std::string_view key : {"max_valid_num", "segment_max_size"})
    if (!given.contains(key))
      fail(ErrorCode::invalid_argument,
           "`pack_args`: expected max_valid_num=N segment_max_size=N, found no {}", key);
}

std::pair<std::string, std::vector<std::vector<int64_t>>> parse_shapes(std::string_view word) {
  const size_t at = word.find('=');
  std::vector<std::vector<int64_t>> shapes(1);
  // A scalar has no dimensions.
  if (at != std::string_view::npos && at > 0 && trimmed(word.substr(at + 1)) == "[]")
    return {std::string(word.substr(0, at)), std::move(shapes)};
  bool good = at != std::string_view::npos && at > 0 && at + 1 < word.size();
  for (std::string_view rest = good ? word.substr(at + 1) : ""; good;) {
    const size_t end = std::min(rest.find_first_of(",/"), rest.size());
    const auto size = parse_number<int64_t>(trimmed(rest.substr(0, end)));
    good = size && *size >= 0;
    shapes.back().push_back(size.value_or(0));
    if (end == rest.size()) break;
    if (rest[end] == '/') shapes.emplace_back();
    rest.remove_prefix(end + 1);
  }
  if (!good)
    fail(ErrorCode::invalid_argument,
         "`input_shape`: expected NAME=d0,d1,... with sizes of at least 0, [] for a number, or "
         "several such "
         "shapes with / in between, found '{}'",
         word);
  return {std::string(word.substr(0, at)), std::move(shapes)};
}

void check_serialized(std::string_view option, std::string_view word) {
  const bool pair = option == "serialize_matmul_add";
  const auto refuse = [&](std::string_view why) {
    fail(ErrorCode::invalid_argument, "`{}`: expected {}, found '{}': {}", option,
         pair ? "MATMUL/ADD=FACTOR" : "OP=FACTOR[/MODE[/KEEP]]", word, why);
  };
  const size_t at = word.rfind('=');  // names of nodes may contain '='
  if (at == std::string_view::npos || at == 0) refuse("there is no name");
  if (pair && word.substr(0, at).find('/') == std::string_view::npos)
    refuse("there is one name only");
  std::string_view rest = word.substr(at + 1);
  const auto part = [&] {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return text;
  };
  const auto factor = parse_number<int64_t>(part());
  if (!factor || *factor < 1) refuse("the factor is not a whole number of at least 1");
  if (pair) {
    if (!rest.empty()) refuse("there is text after the factor");
    return;
  }
  if (rest.empty()) return;
  if (!is_one_of("input_channels,output_channels,reducing_dim,none", part()))
    refuse("the mode is unknown");
  if (rest.empty()) return;
  if (!is_one_of("True,False", part()) || !rest.empty()) refuse("KEEP must be True or False");
}

}  // namespace poprt::capi
