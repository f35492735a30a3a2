#include "common/arguments.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <iostream>

#include "common/help.h"
#include "common/utf8.h"

namespace poprt::cli {
namespace {

constexpr const char* kHelpAll = "help-all";

// No option accepts an empty word, such as the value of an unset shell variable.
void refuse_empty(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& word : option->results())
      if (word.empty()) throw CLI::ValidationError(option->get_name(), "the value is empty");
  for (const CLI::App* sub : app.get_subcommands()) refuse_empty(*sub);
}

// Options are the same with dashes and with underscores between words.
std::string with_underscores(std::string name) {
  std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}

// Returns the spelling that the command has for `word`, or an empty text if it has no such option.
std::string same_option(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (with_underscores("--" + name) == with_underscores(word)) return "--" + name;
  return {};
}

// Returns the long options that start with `word`. Each is represented by its first name that
// does. --help-all cannot be abbreviated, because abbreviations of --help would be ambiguous.
std::vector<std::string> beginning_with(const CLI::App& command, const std::string& word) {
  std::vector<std::string> found;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (name != kHelpAll && with_underscores("--" + name).starts_with(with_underscores(word))) {
        found.push_back("--" + name);
        break;
      }
  return found;
}

bool is_option(const CLI::App& command, const std::string& word) {
  return std::ranges::any_of(command.get_options(), [&](const CLI::Option* option) {
    return std::ranges::count(option->get_lnames(), word.substr(2)) > 0;
  });
}

// Returns the words of a command line with abbreviated options replaced by full names, as Python's
// argparse accepts them: --input_mod is --input_model, and --in may be ambiguous.
std::vector<std::string> with_full_option_names(const CLI::App& program, int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  const CLI::App* command = &program;
  bool value = false;  // the previous word is an option that needs a value
  for (size_t i = 1; i < words.size() && words[i] != "--"; i++) {
    std::string& word = words[i];
    if (!word.starts_with("--")) {
      const auto subs = command->get_subcommands(
          [&](const CLI::App* sub) { return !value && sub->get_name() == word; });
      if (!subs.empty()) command = subs.front();
      const CLI::Option* option =
          word.starts_with("-") ? command->get_option_no_throw(word) : nullptr;
      value = option && option->get_items_expected_min() > 0;
      continue;
    }
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> meant;
    if (!is_option(*command, name)) {
      const std::string same = same_option(*command, name);
      meant = same.empty() ? beginning_with(*command, name) : std::vector{same};
    }
    if (meant.size() > 1)
      throw Usage(
          fmt::format("option '{}' is ambiguous, it could be {}", name, fmt::join(meant, ", ")));
    if (meant.size() == 1) word.replace(0, name.size(), meant.front());
    const CLI::Option* option = command->get_option_no_throw(word.substr(0, word.find('=')));
    value = option && option->get_items_expected_min() > 0 && word.find('=') == word.npos;
  }
  return words;
}

// Options of other programs, each with the option of our commands that users of it mean.
constexpr std::pair<const char*, const char*> kOtherOptions[] = {
    {"--requests", "--iterations"}, {"--runs", "--iterations"},
    {"--repeat", "--iterations"},   {"--duration", "--seconds"},
    {"--time", "--seconds"},        {"--num_threads", "--threads"},
    {"--jobs", "--threads"},        {"--concurrency", "--clients"},
    {"--batch", "--batch_size"},    {"--shape", "--input_shape"},
    {"--shapes", "--input_shape"},  {"--dtype", "--precision"},
    {"--model", "--input_model"},   {"--out", "--output"},
    {"--fp16", "--precision"},      {"--max_tokens", "--max_new_tokens"},
    {"-b", "--batch_size"},         {"-s", "--input_shape"},
    {"-p", "--precision"},          {"-t", "--threads"}};

// Returns the option of the command that other programs call `word`, or an empty text.
std::string other_option(const CLI::App& command, const std::string& word) {
  for (const auto& [other, name] : kOtherOptions)
    if (with_underscores(word) == other && is_option(command, name)) return name;
  return {};
}

// Returns the command among the words whose option this is, or an empty text.
std::string command_with(const CLI::App& command, const std::string& option,
                         const std::vector<std::string>& words) {
  for (const CLI::App* sub : command.get_subcommands({}))
    if (std::ranges::count(words, sub->get_name()) > 0 && is_option(*sub, option))
      return sub->get_name();
  return {};
}

// Describes the first option that its command does not have, with the most similar name if there is
// one. Returns "" if all options are known.
std::string unknown_option(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  for (size_t i = 1; i < words.size() && words[i] != "--"; i++) {
    const std::string word = words[i].substr(0, words[i].find('='));
    for (const CLI::App* used : command->get_subcommands())
      if (used->get_name() == word) command = used;
    if (!word.starts_with("--") || is_option(*command, word)) continue;
    if (const std::string owner = command_with(*command, word, words); !owner.empty())
      return fmt::format("'{0}' is an option of {1}: give it after {1}", word, owner);
    std::string text = fmt::format("there is no option '{}'", word), closest;
    size_t distance = 3;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        if (const size_t d = edit_distance(with_underscores("--" + name), with_underscores(word));
            d < distance) {
          distance = d;
          closest = name;
        }
    if (const std::string name = other_option(*command, word); !name.empty())
      closest = name.substr(2);
    if (!closest.empty()) text += fmt::format(", did you mean --{}?", closest);
    return text;
  }
  return {};
}

// Returns the program and the nested commands that the words select.
std::vector<const CLI::App*> named_commands(const CLI::App& program) {
  std::vector<const CLI::App*> commands{&program};
  while (!commands.back()->get_subcommands().empty())
    commands.push_back(commands.back()->get_subcommands().front());
  return commands;
}

// Returns --long, -s or the name of a positional argument. CLI11's get_name() returns no name of a
// hidden option.
std::string spelled(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) return "-" + option.get_snames().front();
  return option.get_name(true);
}

// Describes the value of an option. CLI11's type names are in capitals: TEXT, INT, UINT, FLOAT.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "true or false";
  const std::string type = option.get_type_name();
  if (type == "INT" || type == "UINT") return "a whole number";
  if (type == "FLOAT") return "a number";
  return type == "TEXT" ? "a value" : type;
}

std::string missing_option(const CLI::Option& option, const std::string& path,
                           const std::vector<std::string>& extra) {
  const std::string name = spelled(option);
  if (!name.starts_with("-"))
    return fmt::format("expected {0}, found none: give {1} {0}", name, path);
  // A word without an option may be its value.
  const std::string type = option.get_type_name();
  const bool word = type == "TEXT" && !extra.empty() && !extra[0].starts_with("-");
  return fmt::format("expected {0}, found none: give {0} {1}", name, word ? extra[0] : type);
}

// Rewords CLI11's messages about missing options, commands and values, unreadable values, and
// options that are given more than once.
std::string reworded(const CLI::App& program, const std::vector<std::string>& words,
                     const CLI::ParseError& error) {
  const std::string error_text = error.what();
  const auto commands = named_commands(program);
  std::string path;
  for (const CLI::App* command : commands) {
    path += (path.empty() ? "" : " ") + command->get_name();
    for (const CLI::Option* option : command->get_options()) {
      const std::string name = option->get_name();
      const std::vector<std::string>& given = option->results();
      if (option->get_required() && error_text == name + " is required")
        return missing_option(*option, path, program.remaining(true));
      if (error_text == fmt::format("Could not convert: {} = {}", name, fmt::join(given, ",")))
        return fmt::format("{}: expected {}, found '{}'", spelled(*option), value_of(*option),
                           fmt::join(given, ","));
      if (error_text.starts_with(name + ": At Most "))
        return fmt::format("{}: expected one occurrence, found {}", spelled(*option), given.size());
    }
  }
  const CLI::App& last = *commands.back();
  if (error_text == "A subcommand is required") {
    std::vector<std::string> names;
    for (const CLI::App* command : last.get_subcommands({})) names.push_back(command->get_name());
    return fmt::format("expected a command, found none: give one of {}", fmt::join(names, ", "));
  }
  // Values can only be missing at the end of a line, because any other word may be a value.
  const CLI::Option* option = last.get_option_no_throw(words.back());
  if (option && error_text.ends_with(" missing"))
    return fmt::format("{0}: expected {1}, found the end of the line: give {0} {2}",
                       spelled(*option), value_of(*option), option->get_type_name());
  return error_text;
}

// Describes the error of a command line that CLI11 rejects.
std::string usage_error(const CLI::App& program, const std::vector<std::string>& words,
                        const CLI::ParseError& error) {
  if (std::string text = unknown_option(program, words); !text.empty()) return text;
  const std::vector<std::string> extra = program.remaining(true);
  if (extra.empty() || error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError))
    return reworded(program, words, error);
  const CLI::App& command = *named_commands(program).back();
  if (extra[0].size() > 1 && extra[0][0] == '-' && extra[0] != "--") {
    const std::string other = other_option(command, extra[0]);
    return fmt::format("there is no option '{}'{}", extra[0],
                       other.empty() ? other : ", did you mean " + other + "?");
  }
  const std::string list = fmt::format("'{}'", fmt::join(extra, "' and '"));
  std::string found = "expected options, found " + list;
  for (const CLI::Option* place : command.get_options())
    if (place->get_positional() && place->count() == 1 && place->get_items_expected_max() == 1)
      found = fmt::format("expected one {}, found '{}' and {}", place->get_name(true),
                          place->results()[0], list);
  if (extra.size() == 1 && extra[0].find('=') != std::string::npos && is_option(command, "--input"))
    return fmt::format("{}: give --input {}", found, extra[0]);
  const CLI::Option* model = program.get_option_no_throw("--input_model");
  if (!model || !model->empty() || extra.size() != 1 || extra[0].starts_with("-")) return found;
  return fmt::format("{}: give --input_model {}", found, extra[0]);
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

Option* Option::required() {
  option_->required();
  return this;
}
Option* Option::check(Check check) {
  option_->check(
      CLI::Validator([check = std::move(check)](std::string& word) { return check(word); }, ""));
  return this;
}
Option* Option::choose(std::vector<std::string> words) {
  option_->transform(CLI::Validator(
      [words](std::string& word) {
        if (const std::string* same = same_word(words, word)) word = *same;
        return std::string();
      },
      ""));
  return check(one_of(std::move(words)));
}
Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}
Option* Option::expected(int least, int most) {
  option_->expected(least, most);
  return this;
}
Option* Option::many() { return expected(1, 1 << 20); }
Option* Option::delimiter(char c) {
  option_->delimiter(c);
  return this;
}
Option* Option::allow_extra_args(bool allow) {
  option_->allow_extra_args(allow);
  return this;
}
Option* Option::take_last() {
  option_->take_last();
  return this;
}
Option* Option::excludes(const Option* other) {
  option_->excludes(other->option_);
  return this;
}
Option* Option::needs(const Option* other) {
  option_->needs(other->option_);
  return this;
}
Option* Option::group(const std::string& name) {
  option_->group(name);
  return this;
}
Option* Option::description(const std::string& text) {
  option_->description(text);
  return this;
}
Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}
size_t Option::count() const { return option_->count(); }
bool Option::is_true() const {
  try {
    return option_->as<bool>();
  } catch (const CLI::ParseError&) {
    throw Usage(fmt::format("--{}: expected true or false, found '{}'",
                            option_->get_lnames().front(), fmt::join(option_->results(), ",")));
  }
}
std::vector<std::string> Option::words() const { return option_->results(); }
std::vector<std::string> Option::reduced() const { return option_->reduced_results(); }

Command::Command(const std::string& description, const std::string& name)
    : program_(std::make_unique<CLI::App>(description, name)),
      app_(program_.get()),
      help_(std::make_shared<HelpFormatter>()) {
  app_->formatter(help_);
  app_->set_help_flag("-h,--help", "Print help");
  app_->set_help_all_flag("--" + std::string(kHelpAll), "Print help with every option and command");
}

Command::Command(CLI::App* app) : app_(app), help_(std::make_shared<HelpFormatter>()) {
  app_->formatter(help_);
}

void Command::start_here(std::vector<std::string> options) { help_->first = std::move(options); }

void Command::example(const std::string& line, const std::string& effect) {
  help_->examples.emplace_back(line, effect);
}

void Command::footer(const std::string& text) { help_->footer = text; }

Command::~Command() = default;

Command* Command::add_command(const std::string& name, const std::string& description) {
  commands_.emplace_back(new Command(app_->add_subcommand(name, description)));
  return commands_.back().get();
}

void Command::group(const std::string& name) { group_ = name; }

Option* Command::keep(CLI::Option* option) {
  if (!group_.empty()) option->group(group_);
  return &options_.emplace_back(option);
}

Option* Command::add_option(const std::string& names, std::string& to, const std::string& help) {
  return keep(app_->add_option(names, to, help));
}
Option* Command::add_option(const std::string& names, std::vector<std::string>& to,
                            const std::string& help) {
  return keep(app_->add_option(names, to, help));
}
Option* Command::add_option(const std::string& names, int& to, const std::string& help) {
  return keep(app_->add_option(names, to, help));
}
Option* Command::add_option(const std::string& names, int64_t& to, const std::string& help) {
  return keep(app_->add_option(names, to, help));
}
Option* Command::add_option(const std::string& names, uint64_t& to, const std::string& help) {
  return keep(app_->add_option(names, to, help));
}
Option* Command::add_option(const std::string& names, double& to, const std::string& help) {
  return keep(app_->add_option(names, to, help));
}
Option* Command::add_option(const std::string& names, std::optional<double>& to,
                            const std::string& help) {
  return keep(app_->add_option(names, to, help));
}
Option* Command::add_option(const std::string& names) { return keep(app_->add_option(names)); }
Option* Command::add_flag(const std::string& names, bool& to, const std::string& help) {
  return keep(app_->add_flag(names, to, help));
}
Option* Command::add_flag(const std::string& names) { return keep(app_->add_flag(names)); }

void Command::set_version_flag(const std::string& names, const std::string& text) {
  app_->set_version_flag(names, text, "Print versions");
}

void Command::callback(std::function<void()> function) { app_->callback(std::move(function)); }

void Command::require_subcommand() { app_->require_subcommand(1); }

bool Command::has_command(const std::string& name) const {
  return std::ranges::any_of(app_->get_subcommands({}),
                             [&](const CLI::App* command) { return command->get_name() == name; });
}

std::string Command::selected(int argc, const char* const* argv) const {
  std::string name = app_->get_name();
  const CLI::App* at = app_;
  for (int i = 1; i < argc; i++) {
    const auto commands = at->get_subcommands({});
    const auto found = std::ranges::find(commands, argv[i], &CLI::App::get_name);
    if (found == commands.end()) break;
    at = *found;
    name += " " + at->get_name();
  }
  return name;
}

std::vector<std::string> Command::command_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands({})) names.push_back(command->get_name());
  return names;
}

bool Command::is_given(const std::string& option) const {
  return app_->get_option(option)->count() > 0;
}

bool Command::parsed() const { return app_->parsed(); }

std::optional<int> Command::parse(int argc, char** argv) {
  CLI::App& app = *app_;
  std::vector<std::string> words;
  try {
    words = with_full_option_names(app, argc, argv);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));
    refuse_empty(app);
    return std::nullopt;
  } catch (const CLI::Success& e) {
    const int code = app.exit(e);
    flush_standard_output();
    return code;
  } catch (const Usage& e) {
    print_error("{0}: {1}; see {0} --help\n", selected(argc, argv), printable(e.what()));
    return 2;
  } catch (const CLI::ParseError& e) {
    std::string command = app.get_name();
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
      at = at->get_subcommands().front();
      command += " " + at->get_name();
    }
    print_error("{}: {}; see {} --help\n", command, printable(usage_error(app, words, e)), command);
    return 2;
  }
}

void flush_standard_output() {
  if (std::fflush(stdout) != 0 || !std::cout.flush() || std::ferror(stdout))
    throw Failure(fmt::format("cannot write to the standard output: {}", std::strerror(errno)));
}

std::string with_standard_output_name(std::string message) {
  constexpr std::string_view kFile = "cannot write to file";
  if (message.starts_with(kFile))
    message.replace(0, kFile.size(), "cannot write to the standard output");
  return message;
}

std::string printable(std::string_view message) {
  std::string line;
  while (!message.empty()) {
    const auto byte = static_cast<unsigned char>(message[0]);
    // A byte that begins no valid character counts as the character with this code, because 8-bit
    // terminals interpret the bytes 0x80 to 0x9f as control characters.
    const Character c = first_character(message).value_or(Character{byte, 1});
    const bool control = c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0);
    for (const char part : message.substr(0, c.bytes))
      line += control ? fmt::format("\\x{:02x}", static_cast<unsigned char>(part))
                      : std::string(1, part);
    message.remove_prefix(c.bytes);
  }
  return line;
}

std::string spell_options(std::string message, std::string_view command) {
  size_t at = 0;
  while ((at = message.find('`', at)) != std::string::npos) {
    const size_t end = message.find('`', at + 1);
    if (end == std::string::npos) break;
    std::string name = message.substr(at + 1, end - at - 1);
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos) {
      at = end + 1;
      continue;
    }
    for (const auto& [ours, option] :
         {std::pair("input_shapes", "input_shape"), std::pair("allow_links", "allow_symlinks"),
          std::pair("list_passes", "list_all_passes")})
      if (name == ours) name = option;
    // Only poprt lists the passes by an option.
    const bool listed = name == "list_all_passes" && command.starts_with("poprt_exec");
    message.replace(at, end + 1 - at, listed ? "poprt_exec passes" : "--" + name);
  }
  return message;
}

const std::string* same_word(const std::vector<std::string>& words, const std::string& word) {
  const auto lower = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  const auto exact = std::ranges::find(words, word);
  if (exact != words.end()) return &*exact;
  const auto same =
      std::ranges::find_if(words, [&](const std::string& w) { return lower(w) == lower(word); });
  return same == words.end() ? nullptr : &*same;
}

std::string similar_word(const std::vector<std::string>& words, const std::string& word) {
  std::string closest;
  size_t distance = std::min<size_t>(3, word.size());
  for (const std::string& w : words)
    if (const size_t d = edit_distance(w, word); d < distance) {
      distance = d;
      closest = w;
    }
  if (!closest.empty() || word.size() < 3) return closest;
  for (const std::string& w : words)
    if (w.starts_with(word) || (w.size() > 2 && word.starts_with(w))) return w;
  return closest;
}

Check one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& word) -> std::string {
    if (std::find(words.begin(), words.end(), word) != words.end()) return {};
    return fmt::format("expected {}, found '{}'", fmt::join(words, " or "), word);
  };
}

Check existing_file() {
  return [](std::string word) {
    return CLI::ExistingFile(word).empty()
               ? ""
               : fmt::format("expected a file, found none at '{}'", word);
  };
}

Check existing_folder() {
  return [](std::string word) {
    return CLI::ExistingDirectory(word).empty()
               ? ""
               : fmt::format("expected a folder, found none at '{}'", word);
  };
}

void add_winograd_option(Command& command, std::string& choice) {
  command
      .add_option(
          "--winograd", choice,
          "Winograd's algorithms for 3x3 convolutions, in addition to direct sums: off, exact "
          "(F(2x2)) or fast (also F(4x4)) [those that keep each layer within 1e-4 of exact sums]")
      ->check(one_of({"off", "exact", "fast"}));
}

void add_batch_options(Command& command, int64_t& size, int64_t& axis, bool axis_alone) {
  const Option* s = command.add_option("--batch_size", size, "Batch size of every input")
                        ->check(at_least<int64_t>(1));
  Option* a = command.add_option("--batch_axis", axis, "Axis of the batch, with --batch_size [0]")
                  ->check(at_least<int64_t>(0));
  if (!axis_alone) a->needs(s);
}

}  // namespace poprt::cli
