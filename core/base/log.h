// Logging inside the library: one named spdlog logger, its level from POPRT_LOG_LEVEL
// (TRACE DEBUG INFO WARNING ERROR CRITICAL OFF; default WARNING), output on stderr or to a
// receiver.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <memory>
#include <string_view>

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

// What our code sees of a spdlog logger: spdlog's headers take seconds to compile, so only the
// files that make loggers include them. Safe from any thread, like the logger behind it.
class Logger {
 public:
  explicit Logger(std::unique_ptr<spdlog::logger> to);
  ~Logger();

  LogLevel level() const;
  void set_level(LogLevel level);

  template <class... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::trace, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::info, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::warn, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    write(LogLevel::error, format, fmt::make_format_args(args...));
  }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args);

  std::unique_ptr<spdlog::logger> to_;
};

// Made on first use; safe from any thread.
Logger& log();

// Accepts the names above in any case, plus WARN and ERR. False when the name is unknown.
bool set_log_level(std::string_view level);

// Takes messages in place of stderr: spdlog's number of the level, text without line end. Called on
// any thread, by several at once. Null: stderr again; a call of the receiver before may be under
// way.
using LogReceiver = void (*)(int32_t level, const char* message);
void set_log_receiver(LogReceiver receiver);

}  // namespace poprt
