// Command lines: wrong usage is one line on stderr and exit code 2 in every command.
// Making a CLI::App and parsing with it instantiate most of that library: that is done once, in
// arguments.cpp.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi.h"
#include "common/standard_streams.h"

namespace poprt::cli {

std::unique_ptr<CLI::App> make_program(const std::string& description, const std::string& name);
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& description);

// Parses. The exit code when there is nothing left to do: help was printed, or the usage is wrong.
// Throws Failure when help cannot be printed.
std::optional<int> parse(CLI::App& app, int argc, char** argv);

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
CLI::Validator between(T from, T to) {
  return {[=](std::string& word) -> std::string {
            T value{};
            const char* end = word.data() + word.size();
            const auto [p, error] = std::from_chars(word.data(), end, value);
            if (error == std::errc() && p == end && value >= from && value <= to) return {};
            const char* what = std::is_integral_v<T> ? "a whole number" : "a number";
            return to == std::numeric_limits<T>::max()
                       ? fmt::format("expected {} of at least {}, found '{}'", what, from, word)
                       : fmt::format("expected {} from {} to {}, found '{}'", what, from, to, word);
          },
          ""};
}

template <class T>
CLI::Validator at_least(T from) {
  return between(from, std::numeric_limits<T>::max());
}

// One of these words.
CLI::Validator one_of(std::vector<std::string> words);

void add_winograd_option(CLI::App& command, std::string& choice);
void add_batch_options(CLI::App& command, int64_t& size, int64_t& axis);

}  // namespace poprt::cli
