#include "passes/common/arguments.h"

#include <charconv>
#include <optional>

#include "passes/pass.h"

namespace poprt::passes {
namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string names_of(const PassDef& pass) {
  std::string list;
  for (const Parameter& p : pass.parameters)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", p.name);
  return list;
}

}  // namespace

std::string_view parameter_kind_name(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::flag: return "flag";
    case ParameterKind::integer: return "integer";
    case ParameterKind::text: return "text";
    case ParameterKind::names: return "names";
    case ParameterKind::words: return "words";
  }
  return "";
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(without_blanks(text.substr(0, end)));
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

std::string checked_argument(const Parameter& parameter, std::string_view label,
                             std::string_view value) {
  const auto refuse = [&](std::string_view expected) {
    fail(ErrorCode::invalid_argument, "{}: expected {}, found '{}'", label, expected, value);
  };
  switch (parameter.kind) {
    case ParameterKind::flag:
      if (value == "True" || value == "true" || value == "1") return "True";
      if (value == "False" || value == "false" || value == "0") return "False";
      refuse("True or False");
      break;
    case ParameterKind::integer:
      if (!number(value)) refuse("a whole number");
      break;
    case ParameterKind::text:
      if (value.empty()) refuse("a text");
      break;
    case ParameterKind::names:
    case ParameterKind::words: {
      const char separator = parameter.kind == ParameterKind::names ? ',' : '\n';
      std::string list;
      for (const std::string& part : split_text(value, separator)) {
        if (part.empty())
          refuse(separator == ',' ? "names of at least one character"
                                  : "words of at least one character");
        if (!list.empty()) list += separator;
        list += part;
      }
      return list;
    }
  }
  return std::string(value);
}

Arguments checked_arguments(const PassDef& pass, const Arguments& given) {
  Arguments checked;
  for (const auto& [name, value] : given) {
    const auto known = std::find_if(pass.parameters.begin(), pass.parameters.end(),
                                    [&](const Parameter& p) { return p.name == name; });
    if (known == pass.parameters.end())
      fail(ErrorCode::invalid_argument, "pass {} has no parameter '{}'; {}", pass.name, name,
           pass.parameters.empty() ? std::string("it has none")
                                   : "its parameters are: " + names_of(pass));
    checked[name] =
        checked_argument(*known, fmt::format("pass {}: parameter {}", pass.name, name), value);
  }
  for (const Parameter& p : pass.parameters) {
    const auto found = checked.find(p.name);
    if (p.required && (found == checked.end() || found->second.empty()))
      fail(ErrorCode::invalid_argument, "pass {} needs its parameter '{}': {}", pass.name, p.name,
           p.summary);
    checked.emplace(p.name, p.standard);
  }
  return checked;
}

const std::string& PassContext::text(std::string_view name) const {
  const auto found = arguments.find(name);
  if (found == arguments.end()) fail(ErrorCode::internal, "the pass has no parameter '{}'", name);
  return found->second;
}

int64_t PassContext::integer(std::string_view name) const { return number(text(name)).value_or(0); }

std::vector<std::string> PassContext::names(std::string_view name) const {
  return split_text(text(name), ',');
}

std::vector<std::string> PassContext::words(std::string_view name) const {
  return split_text(text(name), '\n');
}

}  // namespace poprt::passes
