#include "common/yaml_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/abi.h"
#include "common/json.h"

namespace poprt::cli::yaml {
namespace {

using enum Value::Kind;
using Json = nlohmann::ordered_json;

const std::string& one(const Value& value, const std::string& key) {
  if (value.kind != scalar) throw Unfit(value.line, fmt::format("{}: expected one value", key));
  return value.text;
}

// Returns "1,2" for [1, 2] and a single value unchanged.
std::string list_text(const Value& value, const std::string& key, const char* separator = ",") {
  if (value.kind == scalar) return value.text;
  if (value.kind == map)
    throw Unfit(value.line, fmt::format("{}: expected one value or a list", key));
  std::string text;
  for (const Value& item : value.items) text += (text.empty() ? "" : separator) + one(item, key);
  return text;
}

// Returns the form of pack_args: [[a,b],[c]].
std::string brackets(const Value& value, const std::string& key) {
  if (value.kind != list) return one(value, key);
  std::string text;
  for (const Value& item : value.items) text += (text.empty() ? "" : ",") + brackets(item, key);
  return "[" + text + "]";
}

Json to_json(const Value& value) {
  if (value.kind == scalar) return value.text;
  Json json = value.kind == map ? Json::object() : Json::array();
  for (size_t i = 0; i < value.items.size(); i++)
    if (value.kind == map)
      json[value.keys[i]] = to_json(value.items[i]);
    else
      json.push_back(to_json(value.items[i]));
  return json;
}

// Returns 2,8, or 2,8/2,16 for several shapes. [] is the shape of a scalar.
std::string shapes_text(const Value& value, const std::string& key) {
  if (value.kind == list && value.items.empty()) return "[]";
  const bool several = value.kind == list && value.items.front().kind == list;
  if (!several) return list_text(value, key);
  std::string text;
  for (const Value& shape : value.items) text += (text.empty() ? "" : "/") + list_text(shape, key);
  return text;
}

// Returns FACTOR[/MODE[/KEEP]].
std::string serialized_text(const Value& value, const std::string& key) {
  if (value.kind != map) return list_text(value, key, "/");
  std::map<std::string, std::string> parts;
  for (size_t i = 0; i < value.items.size(); i++) {
    const std::string& name = value.keys[i];
    if (name != "factor" && name != "mode" && name != "keep_precision")
      throw Unfit(
          value.items[i].line,
          fmt::format("{}: expected factor, mode or keep_precision, found '{}'", key, name));
    std::string word = one(value.items[i], fmt::format("{}: {}", key, name));
    if (const std::string known = yaml_bool(word); name == "keep_precision" && !known.empty())
      word = known;
    parts[name] = word;
  }
  if (!parts.contains("factor"))
    throw Unfit(value.line, fmt::format("{}: the factor is missing", key));
  std::string text = parts["factor"];
  if (parts.contains("mode") || parts.contains("keep_precision"))
    text += "/" + (parts.contains("mode") ? parts["mode"] : "output_channels");
  if (parts.contains("keep_precision")) text += "/" + parts["keep_precision"];
  return text;
}

// Returns the kind of PASS.PARAMETER, or an empty text for an unknown pass or parameter.
std::string kind_of(const std::string& parameter) {
  static const auto kinds = [] {
    std::map<std::string, std::string> all;
    poprt_string* text = nullptr;
    check(poprt_compiler_list_passes_json(&text));
    for (const auto& pass : parse_json(take(text)))
      for (const auto& p : pass.value("parameters", nlohmann::json::array()))
        for (const char* name : {"name", "alias"})
          if (!pass.value(name, std::string()).empty())
            all[fmt::format("{}.{}", pass[name].get<std::string>(), p["name"].get<std::string>())] =
                p["kind"];
    return all;
  }();
  const auto found = kinds.find(parameter);
  return found == kinds.end() ? std::string() : found->second;
}

// Returns the TEXT of PASS.PARAMETER=TEXT. Lists are a,b or, for words, lines; mappings are lines
// KEY=VAL.
std::string argument_text(const Value& value, const std::string& parameter) {
  const std::string kind = kind_of(parameter);
  if (value.kind == scalar) {
    const std::string known = kind == "flag" ? yaml_bool(value.text) : "";
    return known.empty() ? value.text : known;
  }
  constexpr const char* kLine = "\\n";  // the library reads it as a line feed
  if (value.kind == list) return list_text(value, parameter, kind == "words" ? kLine : ",");
  std::string text;
  for (size_t i = 0; i < value.items.size(); i++) {
    const std::string key = fmt::format("{}: {}", parameter, value.keys[i]);
    const bool serialized = value.items[i].kind == map;
    text += fmt::format(
        "{}{}={}", i ? kLine : "", value.keys[i],
        serialized ? serialized_text(value.items[i], key) : list_text(value.items[i], key));
  }
  return text;
}

// Returns the text of a field of --compiler_options: words separated by commas for a list, JSON for
// a mapping.
std::string field_text(const Value& value, const std::string& key) {
  static const std::set<std::string> lists = {"custom_patterns", "virtual_graph_split_ratios"};
  static const std::set<std::string> maps = {"custom_transform_applier_settings", "engine_options",
                                             "opaque_blobs"};
  if (value.kind == list && lists.contains(key)) return list_text(value, key);
  if (value.kind == map && maps.contains(key)) return to_text(to_json(value));
  return one(value, key);
}

using Words = std::vector<std::string>;

// Adds KEY.FIELD=VAL words for all levels.
void add_fields(Words& words, const std::string& key, const Value& value) {
  if (value.kind != map) {
    words.push_back(key + "=" + list_text(value, key));
    return;
  }
  for (size_t i = 0; i < value.items.size(); i++)
    add_fields(words, key + "." + value.keys[i], value.items[i]);
}

void add_arguments(Words& words, const std::string& pass, const Value& value) {
  if (value.kind != map) {
    if (pass.find('.') == std::string::npos)
      throw Unfit(value.line, fmt::format("{}: expected a mapping of parameters", pass));
    words.push_back(pass + "=" + argument_text(value, pass));
    return;
  }
  if (pass.find('.') != std::string::npos) {
    words.push_back(pass + "=" + argument_text(value, pass));
    return;
  }
  for (size_t i = 0; i < value.items.size(); i++) {
    const std::string parameter = pass + "." + value.keys[i];
    words.push_back(parameter + "=" + argument_text(value.items[i], parameter));
  }
}

void add_biased(Words& words, const std::string& product, const Value& value) {
  if (value.kind != map) {
    words.push_back(product + "=" + one(value, product));
    return;
  }
  for (size_t i = 0; i < value.items.size(); i++)
    words.push_back(fmt::format("{}/{}={}", product, value.keys[i],
                                one(value.items[i], product + "/" + value.keys[i])));
}

}  // namespace

std::string yaml_bool(const std::string& word) {
  static const std::set<std::string> on = {"True", "true", "TRUE", "Yes", "yes",
                                           "YES",  "On",   "on",   "ON"},
                                     off = {"False", "false", "FALSE", "No", "no",
                                            "NO",    "Off",   "off",   "OFF"};
  return on.contains(word) ? "True" : off.contains(word) ? "False" : "";
}

bool takes_mapping(const OptionInfo& option) {
  return option.kind == "words" &&
         (option.value.find('=') != std::string::npos || option.name == "apply_hcsr");
}

Words words_of(const OptionInfo& option, const Value& map) {
  Words words;
  for (size_t i = 0; i < map.items.size(); i++) {
    const std::string& key = map.keys[i];
    const Value& value = map.items[i];
    if (option.name == "popart_options")
      add_fields(words, key, value);
    else if (option.name == "pass_args")
      add_arguments(words, key, value);
    else if (option.name == "serialize_matmul_add")
      add_biased(words, key, value);
    else if (option.name == "serialize_matmul")
      words.push_back(key + "=" + serialized_text(value, key));
    else if (option.name == "input_shape")
      words.push_back(key + "=" + shapes_text(value, key));
    else if (option.name == "compiler_options")
      words.push_back(key + "=" + field_text(value, key));
    else if (option.name == "pack_args")
      words.push_back(key + "=" + brackets(value, key));
    else
      words.push_back(key + (option.name == "apply_hcsr" ? "," : "=") + one(value, key));
  }
  return words;
}

}  // namespace poprt::cli::yaml
