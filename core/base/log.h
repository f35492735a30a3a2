// Logging inside the library: one named spdlog logger, its level from POPRT_LOG_LEVEL
// (TRACE DEBUG INFO WARNING ERROR CRITICAL OFF; default WARNING), output on stderr or to a
// receiver.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

namespace spdlog {
class logger;
}

namespace poprt {

enum class LogLevel : int32_t {
  trace,
  debug,
  info,
  warn,
  error,
  critical,
  off
};  // spdlog's numbers

// A format string and the place that has it, which the line names.
template <class... Args>
struct LogFormat {
  template <class Text>
  consteval LogFormat(  // NOLINT(google-explicit-constructor): literals become one
      const Text& text, std::source_location at = std::source_location::current())
      : format(text), where(at) {}
  fmt::format_string<Args...> format;
  std::source_location where;
};

// What our code sees of a spdlog logger: spdlog's headers take seconds to compile, so only the
// files that make loggers include them. Safe from any thread, like the logger behind it.
class Logger {
 public:
  explicit Logger(std::unique_ptr<spdlog::logger> to);
  ~Logger();

  LogLevel level() const;
  void set_level(LogLevel level);

  template <class... Args>
  void trace(LogFormat<std::type_identity_t<Args>...> text, Args&&... args) {
    write(LogLevel::trace, text.where, text.format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void debug(LogFormat<std::type_identity_t<Args>...> text, Args&&... args) {
    write(LogLevel::debug, text.where, text.format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(LogFormat<std::type_identity_t<Args>...> text, Args&&... args) {
    write(LogLevel::info, text.where, text.format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void warn(LogFormat<std::type_identity_t<Args>...> text, Args&&... args) {
    write(LogLevel::warn, text.where, text.format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void error(LogFormat<std::type_identity_t<Args>...> text, Args&&... args) {
    write(LogLevel::error, text.where, text.format, fmt::make_format_args(args...));
  }

 private:
  void write(LogLevel level, const std::source_location& where, fmt::string_view format,
             fmt::format_args args);

  std::unique_ptr<spdlog::logger> to_;
};

// Says which warnings of this thread are wanted while it lives; those of other threads are. The one
// made last counts.
class WarningFilter {
 public:
  using Wanted = std::function<bool(const std::string& text)>;
  explicit WarningFilter(Wanted wanted);
  ~WarningFilter();
  WarningFilter(const WarningFilter&) = delete;
  WarningFilter& operator=(const WarningFilter&) = delete;

 private:
  friend class Logger;
  Wanted wanted_;
  WarningFilter* before_;
};

// Made on first use; safe from any thread. Lines look as PopRT's:
// "2023-10-16 12:34:56,789 WARNING [poprt] float_to_half.cpp:65] ...".
Logger& log();

// Accepts the names above in any case, plus WARN and ERR. False when the name is unknown.
bool set_log_level(std::string_view level);

// Takes messages in place of stderr: spdlog's number of the level, text without line end. Called on
// any thread, by several at once. Null: stderr again; a call of the receiver before may be under
// way.
using LogReceiver = void (*)(int32_t level, const char* message);
void set_log_receiver(LogReceiver receiver);

}  // namespace poprt
