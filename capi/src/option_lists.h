// Options by name that both libraries read.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "poprt/compiler.h"

namespace poprt::capi {

// Internal names that users must not give.
inline constexpr const char* kPlain = "plain";    // run only the passes that a model needs
inline constexpr const char* kLayers = "layers";  // tensors that become outputs, one per line
inline constexpr const char* kQuiet = "quiet";    // no warnings: another conversion gives them
// Compiles for a generator. The value is a JSON object (compiler/generation.h).
inline constexpr const char* kGenerationOption = "generation";

// The opaque blob of option numerics=faithful: the converted model as ONNX.
inline constexpr const char* kFaithfulModel = "poprt.faithful";

// The opaque blob of option estimate: the cost of the model on a chip, as JSON (docs/chip.md).
inline constexpr const char* kEstimate = "poprt.estimate";

// Returns the value of an option in o.options, or null.
inline const char* named_option(const poprt_compile_options& o, std::string_view name) {
  for (size_t i = 0; i < o.option_count; i++)
    if (o.options[i].name == name) return o.options[i].value;
  return nullptr;
}

// Whether option `load` requests a copy of a file. Throws invalid_argument for an unknown word.
inline bool copies_file(const char* load) {
  const std::string_view word = load ? load : "";
  if (!word.empty() && word != "map" && word != "copy")
    fail(ErrorCode::invalid_argument, "load '{}' is unknown; it is 'map' or 'copy'", word);
  return word == "copy";
}

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Splits a list of names separated by commas. `what` is the option, for errors.
inline std::vector<std::string> split_names(std::string_view text, std::string_view what) {
  std::vector<std::string> list;
  for (std::string_view rest = text;;) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view name = trimmed(rest.substr(0, end));
    if (name.empty())
      fail(ErrorCode::invalid_argument, "--{}: there is an empty name in '{}'", what, text);
    list.emplace_back(name);
    if (end == rest.size()) return list;
    rest.remove_prefix(end + 1);
  }
}

// Returns the words of an option that has several words, one per line.
inline std::vector<std::string_view> split_lines(std::string_view text, std::string_view option) {
  std::vector<std::string_view> list;
  for (std::string_view rest = text;;) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (end == 0) fail(ErrorCode::invalid_argument, "--{}: there is an empty word", option);
    list.push_back(rest.substr(0, end));
    if (end == rest.size()) return list;
    rest.remove_prefix(end + 1);
  }
}

// Returns the libraries of custom_library_so_paths: they are separate words, or separated by
// commas.
inline std::vector<std::string> library_paths(std::string_view text) {
  std::vector<std::string> list;
  for (const std::string_view line : split_lines(text, "custom_library_so_paths"))
    for (std::string& path : split_names(line, "custom_library_so_paths"))
      list.push_back(std::move(path));
  return list;
}

// Parses NAME=VALUE or NAME=mask of pad_values. An absent value means a mask.
inline std::pair<std::string, std::optional<double>> parse_padding(std::string_view word) {
  const size_t at = word.rfind('=');
  const std::string_view text = at == std::string_view::npos ? "" : word.substr(at + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && !text.empty() && end == text.data() + text.size();
  if (at == 0 || (!number && text != "mask"))
    fail(ErrorCode::invalid_argument, "--pad_values: expected NAME=NUMBER or NAME=mask, found '{}'",
         word);
  return {std::string(word.substr(0, at)), number ? std::optional(value) : std::nullopt};
}

// Parses NAME=N of max_size.
inline std::pair<std::string, int64_t> parse_max_size(std::string_view word) {
  const size_t at = word.rfind('=');
  const std::string_view text = at == std::string_view::npos ? "" : word.substr(at + 1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (at == 0 || text.empty() || error != std::errc() || end != text.data() + text.size() ||
      value < 0)
    fail(ErrorCode::invalid_argument, "--max_size: expected NAME=N, found '{}'", word);
  return {std::string(word.substr(0, at)), value};
}

}  // namespace poprt::capi
