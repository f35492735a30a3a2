// Logging inside the library. There is one spdlog logger; POPRT_LOG_LEVEL, or else
// MODEL_RUNTIME_LOG_LEVEL (TRACE DEBUG INFO WARNING ERROR CRITICAL OFF; default WARNING), sets its
// level, and it writes to stderr or to a receiver.
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
};  // the same numbers as in spdlog

// A format string and its source location, which the log line contains.
template <class... Args>
struct LogFormat {
  template <class Text>
  consteval LogFormat(  // NOLINT(google-explicit-constructor): literals are converted
      const Text& text, std::source_location at = std::source_location::current())
      : format(text), where(at) {}
  fmt::format_string<Args...> format;
  std::source_location where;
};

// A wrapper of a spdlog logger. The headers of spdlog take seconds to compile, so only the files
// that create loggers include them. Thread-safe, like the logger itself.
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

// Decides which warnings of this thread are written while the object lives; other threads are not
// affected. The most recent filter of a thread is used.
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

// The logger, created on first use. Thread-safe. Lines have the format of PopRT: "2023-10-16
// 12:34:56,789 WARNING [poprt] float_to_half.cpp:65] ...".
Logger& log();

// Accepts the names above in upper or lower case, as well as WARN and ERR. Returns false if the
// name is unknown.
bool set_log_level(std::string_view level);

// Receives messages instead of stderr: spdlog's number of the level, and the text without a line
// end. It is called on any thread, also by several at once. Null restores stderr; a call of the
// previous receiver may still be running then.
using LogReceiver = void (*)(int32_t level, const char* message);
void set_log_receiver(LogReceiver receiver);

}  // namespace poprt
