// Command lines: wrong usage is one line on stderr and exit code 2 in every command.
// CLI11 parses them. All of it is in its headers, which cost every file that sees them two seconds:
// Command and Option are what commands need of it, compiled once, in arguments.cpp.
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

// What is wrong with the word that a user gave; nothing when it is right.
using Check = std::function<std::string(const std::string& word)>;

// An option or a positional argument. Functions are those of CLI::Option with the same names.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option* required();
  Option* check(Check check);
  Option* capture_default_str();
  Option* expected(int least, int most);
  Option* many();  // one value or more
  Option* delimiter(char c);
  Option* allow_extra_args(bool allow);
  Option* take_last();
  Option* excludes(const Option* other);
  Option* needs(const Option* other);
  Option* group(const std::string& name);
  Option* description(const std::string& text);
  Option* type_name(const std::string& name);
  size_t count() const;                      // how often it was given
  bool is_true() const;                      // of a flag that was given
  std::vector<std::string> words() const;    // each that was given
  std::vector<std::string> reduced() const;  // those that count: one, unless it takes many

 private:
  CLI::Option* option_;
};

// A program, or a command of it, with its options. Values are written when parse() reads them.
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
  void callback(std::function<void()> function);  // called by parse() of this command
  void require_subcommand();
  bool has_command(const std::string& name) const;
  bool parsed() const;

  // Parses. The exit code when there is nothing left to do: help was printed, or the usage is
  // wrong. Throws Failure when help cannot be printed.
  std::optional<int> parse(int argc, char** argv);

 private:
  explicit Command(CLI::App* app);
  Option* keep(CLI::Option* option) { return &options_.emplace_back(option); }

  std::unique_ptr<CLI::App> program_;  // of a program
  CLI::App* app_;
  std::deque<Option> options_;
  std::vector<std::unique_ptr<Command>> commands_;
};

// How many letters differ: what may have been meant is close to what was given.
size_t edit_distance(std::string_view a, std::string_view b);

// One line: names in a message may come from anywhere.
std::string printable(std::string_view message);

// The library's messages name options in backticks, as its functions spell them.
std::string spell_options(std::string message);

// What --version prints.
std::string versions();

// Throws Failure when what was printed did not get to where it should.
void flush_standard_output();

// Runs `body` and turns what it throws into one line on stderr: 2 for wrong usage, 1 for the rest.
template <class F>
int guarded(const char* command, F&& body) {
  try {
    const int code = body();
    flush_standard_output();
    return code;
  } catch (const Usage& e) {
    say("{}: {}; see {} --help\n", command, printable(e.what()), command);
    return 2;
  } catch (const std::exception& e) {
    say("{}: {}\n", command, printable(spell_options(e.what())));
    return 1;
  }
}

// A number in [from, to].
template <class T>
Check between(T from, T to) {
  return [=](const std::string& word) -> std::string {
    T value{};
    const char* end = word.data() + word.size();
    const auto [p, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && p == end && value >= from && value <= to) return {};
    const char* what = std::is_integral_v<T> ? "a whole number" : "a number";
    return to == std::numeric_limits<T>::max()
               ? fmt::format("expected {} of at least {}, found '{}'", what, from, word)
               : fmt::format("expected {} from {} to {}, found '{}'", what, from, to, word);
  };
}

template <class T>
Check at_least(T from) {
  return between(from, std::numeric_limits<T>::max());
}

// One of these words.
Check one_of(std::vector<std::string> words);
// The path of a file, or of a folder, that is there.
Check existing_file();
Check existing_folder();

void add_winograd_option(Command& command, std::string& choice);
void add_batch_options(Command& command, int64_t& size, int64_t& axis);

}  // namespace poprt::cli
