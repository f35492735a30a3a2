#include "common/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <sstream>

#include "common/abi.h"
#include "common/arguments.h"
#include "common/json.h"

namespace poprt::cli {
namespace {

using Json = nlohmann::json;

OptionInfo read(const Json& j) {
  const auto text = [&](const char* key) { return j.value(key, std::string()); };
  const auto number = [&](const char* key) {
    return j.contains(key) ? std::optional(j[key].get<double>()) : std::nullopt;
  };
  OptionInfo option{.name = text("name"),
                    .group = text("group"),
                    .help = text("help"),
                    .value = text("value"),
                    .kind = text("kind"),
                    .effect = text("effect"),
                    .note = text("note"),
                    .standard = text("default"),
                    .since = text("since"),
                    .needs = text("needs"),
                    .goes_with = text("goes_with"),
                    .choices = j.value("choices", std::vector<std::string>()),
                    .unavailable = j.value("unavailable", std::vector<std::string>()),
                    .aliases = j.value("aliases", std::vector<std::string>()),
                    .least = number("least"),
                    .above = number("above"),
                    .most = number("most"),
                    .command = j.value("command", false),
                    .executable = j.value("executable", false)};
  return option;
}

// Replaces the names of documents by the commands that print them, because some packages contain
// the documents only as text of the commands.
std::string with_topics(std::string text) {
  constexpr std::string_view kFolder = "docs/", kEnding = ".md";
  for (size_t at = 0; (at = text.find(kFolder, at)) != text.npos; at++) {
    const size_t end = text.find(kEnding, at);
    const std::string name = text.substr(at + kFolder.size(), end - at - kFolder.size());
    if (end == text.npos || name.find_first_of(" /") != name.npos) continue;
    text.replace(at, end + kEnding.size() - at, "poprt help " + name);
  }
  return text;
}

// Returns the text that --help shows.
std::string help_of(const OptionInfo& option) {
  std::string text = option.help;
  if (!option.standard.empty()) text += fmt::format(" [{}]", option.standard);
  if (option.effect == "recorded") text += " (recorded for the model of the chip)";
  if (option.effect == "warns") text += " (without effect: " + option.note + ")";
  if (option.effect == "fails") text += " (refused: " + option.note + ")";
  return with_topics(text);
}

template <class T>
std::optional<T> parse_number(const std::string& word) {
  T value{};
  const char* end = word.data() + word.size();
  const auto [p, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || p != end) return std::nullopt;
  return value;
}

bool is_too_large(const std::string& word) {
  int64_t value = 0;
  return std::from_chars(word.data(), word.data() + word.size(), value).ec ==
         std::errc::result_out_of_range;
}

std::string range_of(const OptionInfo& o) {
  std::string text = o.kind == "integer" ? "a whole number" : "a number";
  if (o.above) text += fmt::format(" above {}", *o.above);
  if (o.least) text += fmt::format(" of at least {}", *o.least);
  if (o.most) text += fmt::format(" and at most {}", *o.most);
  return text;
}

}  // namespace

std::vector<std::string> OptionInfo::spellings() const {
  std::vector<std::string> all = {"--" + name};
  for (const std::string& alias : aliases)  // short names first, other long names last
    all.insert(alias.starts_with("--") ? all.end() : all.begin(), alias);
  return all;
}

const OptionInfo* OptionTables::find(std::string_view name) const {
  for (const auto* table : {&options, &tf2onnx})
    for (const OptionInfo& option : *table)
      for (const std::string& spelled : option.spellings())
        if (spelled.starts_with("--") && std::string_view(spelled).substr(2) == name)
          return &option;
  return nullptr;
}

const OptionTables& option_tables() {
  static const OptionTables tables = [] {
    poprt_string* text = nullptr;
    check(poprt_compiler_list_options(&text));
    const Json j = parse_json(take(text));
    OptionTables made;
    for (const Json& option : j["options"]) made.options.push_back(read(option));
    for (const Json& option : j["tf2onnx"]) made.tf2onnx.push_back(read(option));
    for (const Json& field : j["compiler_options"]) made.compiler_fields.push_back(field["name"]);
    return made;
  }();
  return tables;
}

std::string with_typed_names(std::string message, int argc, const char* const* argv) {
  for (int i = 1; i < argc; i++) {
    std::string word(argv[i]);
    word.resize(std::min(word.find('='), word.size()));
    if (!word.starts_with("--")) continue;
    std::replace(word.begin() + 2, word.end(), '-', '_');
    const OptionInfo* option = option_tables().find(std::string_view(word).substr(2));
    if (!option || word.substr(2) == option->name) continue;
    const std::string name = "--" + option->name;
    for (size_t at = 0; (at = message.find(name, at)) != message.npos; at += word.size()) {
      const char next = at + name.size() < message.size() ? message[at + name.size()] : ' ';
      if (next != '_' && !std::isalnum(static_cast<unsigned char>(next)))
        message.replace(at, name.size(), word);
    }
  }
  return message;
}

std::vector<std::string> canonical(const OptionInfo& option, std::vector<std::string> words) {
  for (std::string& word : words)
    if (const std::string* same = same_word(option.choices, word)) word = *same;
  return words;
}

std::string value_error(const OptionInfo& o, const std::string& word) {
  if (!o.choices.empty() && !same_word(o.choices, word))
    return fmt::format("expected {}, found '{}'", fmt::join(o.choices, " or "), word);
  if (o.kind != "integer" && o.kind != "number") return {};
  std::optional<double> value;
  if (o.kind == "number") value = parse_number<double>(word);
  if (o.kind == "integer")
    if (const auto whole = parse_number<int64_t>(word)) value = static_cast<double>(*whole);
  // All comparisons with NaN are false, so NaN is rejected.
  if (value && (!o.least || *value >= *o.least) && (!o.above || *value > *o.above) &&
      (!o.most || *value <= *o.most))
    return {};
  std::string range = range_of(o);
  if (o.kind == "integer" && !o.most && is_too_large(word))
    range += fmt::format(" and at most {}", std::numeric_limits<int64_t>::max());
  return fmt::format("expected {}, found '{}'", range, word);
}

void GivenOptions::add_to(Command& app, const std::vector<OptionInfo>& options) {
  for (const OptionInfo& option : options) {
    const std::string names = fmt::format("{}", fmt::join(option.spellings(), ","));
    if (option.is_flag()) {
      Option* added = app.add_flag(names);
      added->description(help_of(option));
      parsed_.emplace_back(&option, added);
    } else {
      Option* added = app.add_option(names);
      added->description(help_of(option));
      added->type_name(option.value);
      if (option.takes_many())
        added->many();
      else
        added->take_last();
      added->check([&option](const std::string& word) { return value_error(option, word); });
      parsed_.emplace_back(&option, added);
    }
    parsed_.back().second->group(option.group);
  }
}

void GivenOptions::take() {
  for (const auto& [option, parsed] : parsed_) {
    if (parsed->count() == 0) continue;
    if (!option->is_flag())
      words_[option->name] = canonical(*option, parsed->reduced());
    else if (parsed->is_true())
      words_[option->name] = {"True"};
  }
}

std::vector<std::string> GivenOptions::overridden() const {
  std::vector<std::string> names;
  for (const auto& [option, parsed] : parsed_) {
    if (option->is_flag() || option->takes_many() || parsed->count() == 0) continue;
    const std::vector<std::string> words = parsed->words();
    if (std::ranges::count(words, words.back()) < std::ssize(words)) names.push_back(option->name);
  }
  return names;
}

void GivenOptions::add(const OptionInfo& option, std::vector<std::string> words) {
  const auto same = [&](const auto& entry) { return entry.first == &option; };
  const auto parsed = std::ranges::find_if(parsed_, same);
  if (parsed != parsed_.end() && parsed->second->count() > 0) return;
  words_[option.name] = canonical(option, std::move(words));
}

void GivenOptions::move_pass(const std::string& pass, const std::string& option) {
  if (!has("passes")) return;
  std::string rest;
  bool found = false;
  for (const std::string& name : names("passes")) {
    if (name == pass)
      found = true;
    else
      rest += (rest.empty() ? "" : ",") + name;
  }
  if (!found) return;
  words_[option] = {"True"};
  words_["passes"] = {rest};
  if (rest.empty()) words_.erase("passes");
}

std::string GivenOptions::text(const std::string& name, std::string standard) const {
  const auto found = words_.find(name);
  return found == words_.end() ? standard : found->second.front();
}

std::string GivenOptions::joined(const std::string& name) const {
  const OptionInfo& option = *option_tables().find(name);
  const bool names = option.kind == "names";
  std::string text;
  const auto found = words_.find(name);
  if (found == words_.end()) return text;
  for (std::string word : found->second) {
    // The comma of "a, b" does not belong to the word.
    if (names && word.size() > 1 && word.back() == ',') word.pop_back();
    text += (text.empty() ? "" : names ? "," : "\n") + word;
  }
  return text;
}

std::vector<std::string> GivenOptions::names(const std::string& name) const {
  std::vector<std::string> list;
  if (!has(name)) return list;
  std::istringstream words(joined(name));
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(0, word.find_first_not_of(' '));
    word.erase(word.find_last_not_of(' ') + 1);
    if (!word.empty()) list.push_back(word);
  }
  return list;
}

std::vector<std::string> GivenOptions::words_except(const std::set<std::string>& options) const {
  std::vector<std::string> found;
  for (const auto& [name, words] : words_)
    if (!options.contains(name)) found.insert(found.end(), words.begin(), words.end());
  return found;
}

std::string GivenOptions::compiler_field(const std::string& name, std::string standard) const {
  const auto found = words_.find("compiler_options");
  if (found == words_.end()) return standard;
  for (const std::string& word : found->second)
    if (word.starts_with(name + "=")) standard = word.substr(name.size() + 1);
  return standard;
}

std::string GivenOptions::word_with_several_shapes() const {
  std::istringstream words(joined("input_shape"));
  for (std::string word; std::getline(words, word);)
    if (word.find('/', word.rfind('=') + 1) != word.npos) return word;
  return {};
}

NamedOptions GivenOptions::defaults_of_command() const {
  NamedOptions options;
  if (!has("convert_version") && !has("lowest_opset")) options.emplace_back("lowest_opset", "11");
  if (!has("narrow_int64")) options.emplace_back("narrow_int64", "True");
  return options;
}

NamedOptions GivenOptions::for_library() const {
  NamedOptions list;
  for (const OptionInfo& option : option_tables().options)
    if (!option.command && has(option.name)) list.emplace_back(option.name, joined(option.name));
  return list;
}

void GivenOptions::check_needs() const {
  for (const auto& [name, words] : words_) {
    const OptionInfo* option = option_tables().find(name);
    if (!option->needs.empty() && !has(option->needs))
      throw Usage(fmt::format("--{} needs --{}", name, option->needs));
  }
}

}  // namespace poprt::cli
