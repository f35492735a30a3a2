// Parameters of passes. Values are texts by name, as options, YAML files and the language bindings
// pass them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::passes {

// The form of a value, like OptionKind of the command's options.
enum class ParameterKind : uint8_t {
  flag,     // True or False
  integer,  // a decimal number of 64 bits, which may be negative
  text,     // any text that is not empty
  names,    // separated by commas; blanks around them are ignored
  words,    // one per line
};
std::string_view parameter_kind_name(ParameterKind kind);

struct Parameter {
  std::string_view name;
  ParameterKind kind = ParameterKind::text;
  std::string_view summary;        // its meaning, shown to users
  std::string_view standard = {};  // the default
  bool required = false;
};

// Values by parameter name.
using Arguments = std::map<std::string, std::string, std::less<>>;

// Returns the value in its standard form ("True", names without blanks). Throws invalid_argument
// with `label` as prefix.
std::string checked_argument(const Parameter& parameter, std::string_view label,
                             std::string_view value);

// Splits a text at each separator and removes the blanks around each part. An empty text has no
// parts; a separator at the end is followed by an empty part.
std::vector<std::string> split_text(std::string_view text, char separator);
// Removes spaces, tabs and carriage returns at both ends.
std::string_view without_blanks(std::string_view text);

}  // namespace poprt::passes
