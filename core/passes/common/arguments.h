// Parameters of passes: each is a text by name, as options, YAML files and the languages give them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::passes {

// What a value looks like, as OptionKind of the command's options.
enum class ParameterKind : uint8_t {
  flag,     // True or False
  integer,  // digits
  text,     // one word or name
  names,    // separated by commas, blanks around them are nothing
  words,    // a line each
};
std::string_view parameter_kind_name(ParameterKind kind);

struct Parameter {
  std::string_view name;
  ParameterKind kind = ParameterKind::text;
  std::string_view summary;        // what it is, for people
  std::string_view standard = {};  // the value when none is given
  bool required = false;
};

// Values by name of the parameter.
using Arguments = std::map<std::string, std::string, std::less<>>;

// The text of a value in its standard form ("True", names without blanks). Throws invalid_argument
// with `label` in front.
std::string checked_argument(const Parameter& parameter, std::string_view label,
                             std::string_view value);

// The parts of a text; none of "".
std::vector<std::string> split_text(std::string_view text, char separator);
std::string_view without_blanks(std::string_view text);

}  // namespace poprt::passes
