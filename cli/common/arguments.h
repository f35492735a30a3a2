// Parses command lines. In every command, wrong usage prints one line on stderr and exits with 2.
// CLI11 does the parsing. Its headers cost every file that includes them two seconds of compile
// time, so only arguments.cpp and help.h include them, and commands use the classes Command and
// Option.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi.h"
#include "common/standard_streams.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace poprt::cli {

// Returns the error of a word that a user gave, or an empty text if it is valid.
using Check = std::function<std::string(const std::string& word)>;

class HelpFormatter;

// An option or a positional argument. Functions without a comment are those of CLI::Option with the
// same names.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option* required();
  Option* check(Check check);
  // Accepts one of these words in upper or lower case; the value has the spelling in the list.
  Option* choose(std::vector<std::string> words);
  Option* capture_default_str();
  Option* expected(int least, int most);
  Option* many();  // accepts one or more values
  Option* delimiter(char c);
  Option* allow_extra_args(bool allow);
  Option* take_last();
  Option* excludes(const Option* other);
  Option* needs(const Option* other);
  Option* group(const std::string& name);
  Option* description(const std::string& text);
  Option* type_name(const std::string& name);
  size_t count() const;                    // how often the option was given
  bool is_true() const;                    // the value of a flag; throws Usage if it is none
  std::vector<std::string> words() const;  // all given values
  // The values that take effect: the last one, or all if many() was called.
  std::vector<std::string> reduced() const;

 private:
  CLI::Option* option_;
};

// A program or one of its commands, with its options. parse() writes the values.
class Command {
 public:
  Command(const std::string& description, const std::string& name);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_command(const std::string& name, const std::string& description);
  Option* add_option(const std::string& names, std::string& to, const std::string& help);
  Option* add_option(const std::string& names, std::vector<std::string>& to,
                     const std::string& help);
  Option* add_option(const std::string& names, int& to, const std::string& help);
  Option* add_option(const std::string& names, int64_t& to, const std::string& help);
  Option* add_option(const std::string& names, uint64_t& to, const std::string& help);
  Option* add_option(const std::string& names, double& to, const std::string& help);
  Option* add_option(const std::string& names, std::optional<double>& to, const std::string& help);
  Option* add_option(const std::string& names);
  Option* add_flag(const std::string& names, bool& to, const std::string& help);
  Option* add_flag(const std::string& names);
  void set_version_flag(const std::string& names, const std::string& text);
  // parse() of the program calls the function if the command line selects this command.
  void callback(std::function<void()> function);
  void require_subcommand();
  // Options that are added from now on belong to this group of --help.
  void group(const std::string& name);
  // --help describes these options first, and lists the others only by name. --help-all describes
  // all of them.
  void start_here(std::vector<std::string> options);
  // Adds a command line and its effect to --help.
  void example(const std::string& line, const std::string& effect);
  // The last paragraph of --help.
  void footer(const std::string& text);
  bool has_command(const std::string& name) const;
  // Returns the name of the command that the first words of the command line select, such as
  // "poprt_exec debug compare".
  std::string selected(int argc, const char* const* argv) const;
  // Whether the command line has this option of the command, such as --threads.
  bool is_given(const std::string& option) const;
  std::vector<std::string> command_names() const;
  bool parsed() const;

  // Parses the command line. Returns the exit code if the program should end, because help was
  // printed or the usage is wrong. Throws Failure if help cannot be printed.
  std::optional<int> parse(int argc, char** argv);

 private:
  explicit Command(CLI::App* app);
  Option* keep(CLI::Option* option);

  std::unique_ptr<CLI::App> program_;  // null for a command of a program
  CLI::App* app_;
  std::shared_ptr<HelpFormatter> help_;
  std::string group_;
  std::deque<Option> options_;
  std::vector<std::unique_ptr<Command>> commands_;
};

// Number of edits between two words, for suggestions of similar names.
size_t edit_distance(std::string_view a, std::string_view b);

// Returns the element of `words` that equals `word` in upper or lower case, or null.
const std::string* same_word(const std::vector<std::string>& words, const std::string& word);

// Returns the element of `words` that the user of `word` probably means, or an empty text.
std::string similar_word(const std::vector<std::string>& words, const std::string& word);

// Escapes control characters, so that names from untrusted sources stay on one line.
std::string printable(std::string_view message);

// The library's messages have option names in backticks. Returns the message with the spelling of
// this command, such as "poprt_exec opt".
std::string spell_options(std::string message, std::string_view command = "poprt");

// Returns the message of an error. A failed fmt::print throws "cannot write to file"; the returned
// message names the standard output instead, because commands print their results there.
std::string with_standard_output_name(std::string message);

// Throws Failure if the printed text could not be written.
void flush_standard_output();

// Runs `body`, writes the buffered standard output, and returns the result of `body`. Prints an
// exception as one line on stderr and returns 2 for wrong usage or 1 for other errors.
template <class F>
int guarded(const char* command, F&& body) {
  try {
    const int code = body();
    flush_standard_output();
    return code;
  } catch (const Usage& e) {
    print_error("{}: {}; see {} --help\n", command, printable(e.what()), command);
    return 2;
  } catch (const std::exception& e) {
    print_error("{}: {}\n", command,
                printable(spell_options(with_standard_output_name(e.what()), command)));
    return 1;
  }
}

// Accepts a number in [from, to].
template <class T>
Check between(T from, T to) {
  return [=](const std::string& word) -> std::string {
    T value{};
    const char* end = word.data() + word.size();
    const auto [p, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && p == end && value >= from && value <= to) return {};
    const char* what = std::is_integral_v<T> ? "a whole number" : "a number";
    return to == std::numeric_limits<T>::max() && error != std::errc::result_out_of_range
               ? fmt::format("expected {} of at least {}, found '{}'", what, from, word)
               : fmt::format("expected {} from {} to {}, found '{}'", what, from, to, word);
  };
}

template <class T>
Check at_least(T from) {
  return between(from, std::numeric_limits<T>::max());
}

// Accepts one of these words.
Check one_of(std::vector<std::string> words);
// Accept the path of an existing file, or of an existing folder.
Check existing_file();
Check existing_folder();

void add_winograd_option(Command& command, std::string& choice);
// `axis_alone`: the command has another option for batch sizes, and checks that one is given.
void add_batch_options(Command& command, int64_t& size, int64_t& axis, bool axis_alone = false);

}  // namespace poprt::cli
