#include "common/config_yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "common/abi.h"
#include "common/arguments.h"
#include "common/read_pieces.h"
#include "common/yaml_words.h"

namespace poprt::cli {
namespace {

constexpr size_t kMostBytes = 1 << 20;

// Reads libyaml's events one by one and stores nothing before its key is checked, so that deep
// files and aliases use no memory.
class Events {
 public:
  // `option` is the option that names the file; errors mention it.
  Events(const std::string& option, const std::string& path, const std::string& text)
      : option_(option), path_(path) {
    if (!yaml_parser_initialize(&parser_)) throw Failure("out of memory");
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Events() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  yaml_event_type_t next() {
    yaml_event_delete(&event_);
    if (!yaml_parser_parse(&parser_, &event_)) {
      line_ = parser_.problem_mark.line + 1;
      fail(parser_.problem ? parser_.problem : "no YAML");
    }
    line_ = event_.start_mark.line + 1;
    if (event_.type == YAML_ALIAS_EVENT) fail("aliases are not supported; repeat the value");
    const bool tagged =
        (event_.type == YAML_SCALAR_EVENT && event_.data.scalar.tag) ||
        (event_.type == YAML_SEQUENCE_START_EVENT && event_.data.sequence_start.tag) ||
        (event_.type == YAML_MAPPING_START_EVENT && event_.data.mapping_start.tag);
    if (tagged) fail("tags are not supported");
    return event_.type;
  }
  // The text of a scalar.
  std::string text() const {
    const auto& s = event_.data.scalar;
    return {reinterpret_cast<const char*>(s.value), s.length};
  }
  bool requests_nothing() const {
    const std::string word = text();
    return event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (word.empty() || word == "~" || word == "null" || word == "Null" || word == "NULL");
  }
  size_t line() const { return line_; }
  [[noreturn]] void fail(const std::string& why) const { fail(why, line_); }
  [[noreturn]] void fail(const std::string& why, size_t line) const {
    throw Usage(fmt::format("--{}: {}:{}: {}", option_, path_, line, why));
  }

 private:
  const std::string option_;
  const std::string& path_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  size_t line_ = 1;
};

// The file of --config_yaml and the lines of the options that only it has.
struct ReadLines {
  std::string path;
  std::map<std::string, size_t> of;
};

ReadLines& read_lines() {
  static ReadLines lines;
  return lines;
}

std::string read_text(const std::string& option, const std::string& path) {
  std::string text;
  try {
    // "-" is the name of a file here.
    read_pieces(path == "-" ? "./-" : path, UINT64_MAX, [&](std::span<const char> piece) {
      text.append(piece.data(), piece.size());
      if (text.size() > kMostBytes)
        throw Usage(fmt::format("--{}: '{}' has more than {} bytes", option, path, kMostBytes));
    });
  } catch (const Usage&) {
    throw;
  } catch (const Failure& e) {
    throw Failure(fmt::format("--{}: {}", option, e.what()));
  }
  return text;
}

[[noreturn]] void unknown(const Events& events, const std::string& name) {
  std::string meant;
  size_t closest = 3;
  for (const OptionInfo& option : option_tables().options)
    if (const size_t distance = edit_distance(option.name, name); distance < closest) {
      closest = distance;
      meant = option.name;
    }
  events.fail(fmt::format("there is no option '{}'{}", name,
                          meant.empty() ? "" : fmt::format(", did you mean {}?", meant)));
}

std::string scalar(Events& events, const OptionInfo& option) {
  if (events.requests_nothing()) events.fail(fmt::format("{} has no value", option.name));
  std::string word = events.text();
  while (word.ends_with('\n')) word.pop_back();  // the end of a block scalar
  if (word.empty()) events.fail(fmt::format("{}: the value is empty", option.name));
  if (word.find('\n') != std::string::npos || word.find('\0') != std::string::npos)
    events.fail(fmt::format("{}: the value has more than one line", option.name));
  if (option.is_flag()) {
    if (std::string known = yaml::yaml_bool(word); !known.empty()) return known;
    events.fail(fmt::format("{}: expected True or False, found '{}'", option.name, word));
  }
  if (const std::string why = value_error(option, word); !why.empty())
    events.fail(fmt::format("{}: {}", option.name, why));
  return word;
}

constexpr int kDeepest = 4;  // levels below an option

yaml::Value read_value(Events& events, const OptionInfo& option, yaml_event_type_t begin,
                       int depth) {
  yaml::Value value{.line = events.line()};
  if (begin == YAML_SCALAR_EVENT) {
    value.text = scalar(events, option);
    return value;
  }
  if (depth == kDeepest)
    events.fail(fmt::format("{}: lists and mappings are nested too deeply", option.name));
  const bool map = begin == YAML_MAPPING_START_EVENT;
  value.kind = map ? yaml::Value::Kind::map : yaml::Value::Kind::list;
  const auto end = map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
  std::set<std::string> seen;
  for (yaml_event_type_t type; (type = events.next()) != end;) {
    if (map) {
      if (type != YAML_SCALAR_EVENT)
        events.fail(fmt::format("{}: expected a name, found a list or a mapping", option.name));
      value.keys.push_back(scalar(events, option));
      if (!seen.insert(value.keys.back()).second)
        events.fail(fmt::format("{}: {} is given twice", option.name, value.keys.back()));
      type = events.next();
    }
    value.items.push_back(read_value(events, option, type, depth + 1));
  }
  // An empty list one level below the option is the shape of a scalar tensor.
  const bool number = option.name == "input_shape" && depth == 1 && !map;
  if (value.items.empty() && !number) events.fail(fmt::format("{} has no value", option.name));
  return value;
}

std::vector<std::string> fitting_words(Events& events, const OptionInfo& option,
                                       const yaml::Value& map) {
  try {
    return yaml::words_of(option, map);
  } catch (const yaml::Unfit& e) {
    events.fail(fmt::format("{}: {}", option.name, e.what()), e.line);
  }
}

// Reads the value of an option: one value, a list, or a mapping if the words of the option start
// with names.
std::vector<std::string> words(Events& events, const OptionInfo& option, yaml_event_type_t begin) {
  if (begin == YAML_SCALAR_EVENT) return {scalar(events, option)};
  if (begin == YAML_MAPPING_START_EVENT) {
    if (!yaml::takes_mapping(option))
      events.fail(fmt::format("{}: expected {}, found a mapping", option.name,
                              option.takes_many() ? "a list" : "one value"));
    return fitting_words(events, option, read_value(events, option, begin, 0));
  }
  if (!option.takes_many())
    events.fail(fmt::format("{}: expected one value, found a list", option.name));
  std::vector<std::string> list;
  for (yaml_event_type_t type; (type = events.next()) != YAML_SEQUENCE_END_EVENT;) {
    if (type != YAML_SCALAR_EVENT)
      events.fail(fmt::format("{}: expected words, found a list or a mapping in it", option.name));
    list.push_back(scalar(events, option));
    if (option.name == "input_shape" && list.back().find('=') == std::string::npos)
      events.fail(fmt::format(
          "input_shape: expected NAME=d0,d1,..., found '{}'; YAML separates the items of a list at "
          "commas, so give each shape in quotes",
          list.back()));
  }
  if (list.empty()) events.fail(fmt::format("{} has no value", option.name));
  return list;
}

// Reads the options of a mapping up to its end. `special(name, option)` is called for every name,
// where `option` may be null. It returns true if it has dealt with the name.
template <class Special>
void read_options(Events& events, GivenOptions& options, Special&& special) {
  std::set<std::string> seen;
  yaml::Value arguments;  // of passes
  while (true) {
    const yaml_event_type_t type = events.next();
    if (type == YAML_MAPPING_END_EVENT) break;
    if (type != YAML_SCALAR_EVENT) events.fail("expected the name of an option");
    const std::string name = events.text();
    const OptionInfo* option = option_tables().find(name);
    if (!seen.insert(option ? option->name : name).second)
      events.fail(fmt::format("{} is given twice", option ? option->name : name));
    if (special(name, option)) continue;
    if (!option) unknown(events, name);
    const yaml_event_type_t begin = events.next();
    if (name == "pass_args" && begin == YAML_MAPPING_START_EVENT) {
      arguments = read_value(events, *option, begin, 0);
      continue;
    }
    std::vector<std::string> value = words(events, *option, begin);
    if (!option->is_flag() || value.front() == "True") options.add(*option, std::move(value));
  }
  if (arguments.items.empty()) return;
  // The parameters of plug-in passes are known only after the plug-ins are loaded.
  if (options.has("custom_library_so_paths"))
    load_plugins(options.joined("custom_library_so_paths"));
  const OptionInfo& option = *option_tables().find("pass_args");
  options.add(option, fitting_words(events, option, arguments));
}

// Reads the list model_fusion. `options` are those of the command line.
std::vector<GivenOptions> read_models(Events& events, const GivenOptions& options) {
  std::vector<GivenOptions> models;
  if (events.next() != YAML_SEQUENCE_START_EVENT)
    events.fail("model_fusion: expected a list of models, each a mapping of options");
  while (true) {
    const yaml_event_type_t type = events.next();
    if (type == YAML_SEQUENCE_END_EVENT) break;
    if (type != YAML_MAPPING_START_EVENT)
      events.fail("model_fusion: expected a mapping of options for each model");
    GivenOptions& model = models.emplace_back(options);
    read_options(events, model, [&](const std::string& name, const OptionInfo* option) {
      if (option && option->command && option->name != "input_model" &&
          option->name != "manual_sharding_config") {
        const bool script =
            option->name == "custom_pass_config" || option->name == "custom_shape_inference";
        events.fail(fmt::format("model_fusion: {} is for all models{}", name,
                                script
                                    ? ", and fused models cannot have it; convert each model with "
                                      "its scripts first"
                                    : "; give it outside of the list"));
      }
      return false;
    });
    if (!model.has("input_model")) events.fail("model_fusion: a model has no input_model");
  }
  if (models.empty()) events.fail("model_fusion: there are no models in the list");
  return models;
}

// Reads one cut point of --manual_sharding_config.
void read_cut(Events& events, std::vector<std::string>& devices, std::vector<std::string>& stages) {
  std::map<std::string, std::string> cut;
  while (true) {
    const yaml_event_type_t type = events.next();
    if (type == YAML_MAPPING_END_EVENT) break;
    if (type != YAML_SCALAR_EVENT) events.fail("expected node, device or stage");
    const std::string key = events.text();
    if (key != "node" && key != "device" && key != "stage")
      events.fail(fmt::format("expected node, device or stage, found '{}'", key));
    if (events.next() != YAML_SCALAR_EVENT || events.requests_nothing())
      events.fail(fmt::format("{}: expected one value", key));
    const std::string word = events.text();
    if (key == "node"
            ? word.empty() || word.find_first_of(std::string("\n\0", 2)) != word.npos
            : word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != word.npos)
      events.fail(fmt::format("{}: expected a {}, found '{}'", key,
                              key == "node" ? "name" : "whole number from 0", word));
    if (!cut.emplace(key, word).second) events.fail(fmt::format("{} is given twice", key));
  }
  if (!cut.contains("node")) events.fail("a cut point has no node");
  if (cut.size() == 1)
    events.fail(fmt::format("node '{}' has neither device nor stage", cut.at("node")));
  if (cut.contains("device")) devices.push_back(cut.at("node") + "=" + cut.at("device"));
  if (cut.contains("stage")) stages.push_back(cut.at("node") + "=" + cut.at("stage"));
}

}  // namespace

void read_sharding_yaml(const std::string& path, GivenOptions& options) {
  const std::string option = "manual_sharding_config", text = read_text(option, path);
  for (const char* name : {"sharding_info", "pipelining_info"})
    if (options.has(name))
      throw Usage(
          fmt::format("--{} and --{}: only one of them may contain cut points", option, name));
  Events events(option, path, text);
  events.next();  // start of the stream
  if (events.next() == YAML_STREAM_END_EVENT) events.fail("there are no cut points");
  if (events.next() != YAML_SEQUENCE_START_EVENT)
    events.fail("expected a list of maps with node, device and stage");
  std::vector<std::string> devices, stages;
  for (yaml_event_type_t type; (type = events.next()) != YAML_SEQUENCE_END_EVENT;) {
    if (type != YAML_MAPPING_START_EVENT) events.fail("expected a map with node, device and stage");
    read_cut(events, devices, stages);
  }
  if (devices.empty() && stages.empty()) events.fail("there are no cut points");
  events.next();  // end of the document
  if (events.next() != YAML_STREAM_END_EVENT) events.fail("there is more than one document");
  if (!devices.empty()) options.add(*option_tables().find("sharding_info"), std::move(devices));
  if (!stages.empty()) options.add(*option_tables().find("pipelining_info"), std::move(stages));
}

std::string with_yaml_line(const std::string& message) {
  const size_t end = message.find(": ");
  if (!message.starts_with("--") || end == std::string::npos) return message;
  const auto line = read_lines().of.find(message.substr(2, end - 2));
  if (line == read_lines().of.end()) return message;
  return fmt::format("--config_yaml: {}:{}: {}", read_lines().path, line->second,
                     message.substr(2));
}

std::vector<GivenOptions> read_config_yaml(const std::string& path, GivenOptions& options) {
  const std::string option = "config_yaml", text = read_text(option, path);
  read_lines() = {.path = path, .of = {}};
  Events events(option, path, text);
  events.next();  // start of the stream
  if (events.next() == YAML_STREAM_END_EVENT) events.fail("there are no options");
  if (events.next() != YAML_MAPPING_START_EVENT) events.fail("expected NAME: VALUE");
  const GivenOptions given = options;
  std::vector<GivenOptions> models;
  read_options(events, options, [&](const std::string& name, const OptionInfo* option) {
    if (option && option->name == "config_yaml")
      events.fail("a file of options cannot name another");
    if (option && !given.has(option->name)) read_lines().of[option->name] = events.line();
    if (name != "model_fusion") return false;
    models = read_models(events, given);
    return true;
  });
  if (!models.empty() && options.has("input_model"))
    events.fail("input_model: the models are given in the list model_fusion");
  for (GivenOptions& model : models) model.merge(options);
  events.next();  // end of the document
  if (events.next() != YAML_STREAM_END_EVENT) events.fail("there is more than one document");
  return models;
}

}  // namespace poprt::cli
