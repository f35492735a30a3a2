// The prefix of the names of nodes that the compiler copies out of a body: of the branches of If
// and of each round of an unrolled Loop. Node "add" of body "then_branch" becomes
// "then_branch_3/add".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace poprt::ops {

inline std::string_view body_scope_name(std::string_view body) { return body.substr(0, 16); }

inline std::string body_scope(std::string_view body, int64_t number) {
  return fmt::format("{}_{}/", body_scope_name(body), number);
}

// Returns the part of `name` after a number and "/", or nothing.
inline std::optional<std::string_view> after_scope_number(std::string_view name) {
  const size_t digits = name.find_first_not_of("0123456789");
  if (digits == name.npos || digits == 0 || name[digits] != '/') return std::nullopt;
  return name.substr(digits + 1);
}

// Returns the part of `name` after the prefix of a body with this scope name, or nothing.
inline std::optional<std::string_view> after_body_scope(std::string_view name,
                                                        std::string_view scope_name) {
  if (!name.starts_with(scope_name) || name.size() <= scope_name.size() ||
      name[scope_name.size()] != '_')
    return std::nullopt;
  return after_scope_number(name.substr(scope_name.size() + 1));
}

// The same for a body with any name that contains no "/".
inline std::optional<std::string_view> after_any_body_scope(std::string_view name) {
  const size_t slash = name.find('/'), mark = name.substr(0, slash).rfind('_');
  if (slash == name.npos || mark == name.npos) return std::nullopt;
  return after_scope_number(name.substr(mark + 1));
}

// Returns the name without the prefixes of bodies.
inline std::string_view without_body_scopes(std::string_view name) {
  while (const auto rest = after_any_body_scope(name)) name = *rest;
  return name;
}

}  // namespace poprt::ops
