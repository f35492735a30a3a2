#include "base/log.h"

#include "base/first_use.h"
#include "base/fork_sink.h"
#include "base/log_level.h"

#include <spdlog/details/os.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace poprt {
namespace {

// The static variable of is_color_terminal() is initialized when the library is loaded, so that no
// thread is in its initializer during a fork.
[[maybe_unused]] const bool colors_known = spdlog::details::os::is_color_terminal();

std::optional<LogLevel> level_from_name(std::string_view name) {
  std::string upper;
  for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (upper == "TRACE") return LogLevel::trace;
  if (upper == "DEBUG") return LogLevel::debug;
  if (upper == "INFO") return LogLevel::info;
  if (upper == "WARNING" || upper == "WARN") return LogLevel::warn;
  if (upper == "ERROR" || upper == "ERR") return LogLevel::error;
  if (upper == "CRITICAL") return LogLevel::critical;
  if (upper == "OFF") return LogLevel::off;
  return std::nullopt;
}

struct Variable {
  const char* name;
  const char* value;
};

// Returns the environment variable that sets the level, with its value. The value is empty if
// neither variable is set.
Variable wanted_level() {
  Variable found{nullptr, ""};
  for (const char* name : {"MODEL_RUNTIME_LOG_LEVEL", "POPRT_LOG_LEVEL"})
    if (const char* value = std::getenv(name); value && *value) found = {name, value};
  return found;
}

// Every message reads it. The receiver itself ensures that the objects that it uses live long
// enough.
std::atomic<LogReceiver> log_receiver{nullptr};

class Sink final : public spdlog::sinks::sink {
 public:
  explicit Sink(std::unique_ptr<spdlog::sinks::sink> to) : stderr_(std::move(to)) {}
  void log(const spdlog::details::log_msg& message) override {
    if (const LogReceiver receive = log_receiver.load(std::memory_order_acquire))
      receive(static_cast<int32_t>(message.level),
              std::string(message.payload.data(), message.payload.size()).c_str());
    else
      stderr_->log(message);
  }
  void flush() override { stderr_->flush(); }
  void set_pattern(const std::string& pattern) override { stderr_->set_pattern(pattern); }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    stderr_->set_formatter(std::move(formatter));
  }

 private:
  const std::unique_ptr<spdlog::sinks::sink> stderr_;
};

// Formats the level as Python's logging does.
class LevelName final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& to) override {
    constexpr const char* kNames[] = {"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
    const std::string_view name = kNames[std::min<size_t>(message.level, std::size(kNames) - 1)];
    to.append(name.data(), name.data() + name.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>();
  }
};

std::unique_ptr<spdlog::formatter> formatter_of(const char* pattern) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<LevelName>('*').set_pattern(pattern);
  return formatter;
}

// The logger is not in spdlog's registry, so it does not interfere with an application that uses
// spdlog itself.
std::unique_ptr<Logger> make_logger() {
  auto lines = std::make_unique<ForkSink>(std::make_unique<spdlog::sinks::stderr_color_sink_st>(),
                                          [] { return formatter_of("%^%*%$ [%n] %s:%#] %v"); });
  auto target = std::make_unique<spdlog::logger>("poprt", std::make_shared<Sink>(std::move(lines)));
  target->set_formatter(formatter_of("%Y-%m-%d %H:%M:%S,%e %^%*%$ [%n] %s:%#] %v"));
  target->flush_on(spdlog::level::warn);
  auto logger = std::make_unique<Logger>(std::move(target));
  logger->set_level(LogLevel::warn);
  if (const auto level = level_from_name(wanted_level().value)) logger->set_level(*level);
  return logger;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(level);
}

thread_local WarningFilter* warning_filter = nullptr;

}  // namespace

WarningFilter::WarningFilter(Wanted wanted)
    : wanted_(std::move(wanted)), before_(std::exchange(warning_filter, this)) {}
WarningFilter::~WarningFilter() { warning_filter = before_; }

Logger::Logger(std::unique_ptr<spdlog::logger> to) : to_(std::move(to)) {}
Logger::~Logger() = default;

LogLevel Logger::level() const { return static_cast<LogLevel>(to_->level()); }
void Logger::set_level(LogLevel level) { to_->set_level(spdlog_level(level)); }

void Logger::write(LogLevel level, const std::source_location& where, fmt::string_view format,
                   fmt::format_args args) {
  if (!to_->should_log(spdlog_level(level))) return;
  const spdlog::source_loc place{where.file_name(), static_cast<int>(where.line()),
                                 where.function_name()};
  const std::string text = fmt::vformat(format, args);
  if (level == LogLevel::warn && warning_filter && !warning_filter->wanted_(text)) return;
  to_->log(place, spdlog_level(level), std::string_view(text));
}

Logger& log() {
  static constinit FirstUse<std::unique_ptr<Logger>> made;
  return *made.get(make_logger);
}

void warn_of_unknown_log_level() {
  static std::atomic<bool> done{false};
  if (!is_first_use(done)) return;
  const Variable wanted = wanted_level();
  if (*wanted.value && !level_from_name(wanted.value))
    log().warn("{} is '{}', expected TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF",
               wanted.name, wanted.value);
}

bool set_log_level(std::string_view level) {
  const auto known = level_from_name(level);
  if (known) log().set_level(*known);
  return known.has_value();
}

void set_log_receiver(LogReceiver receiver) {
  log_receiver.store(receiver, std::memory_order_release);
}

}  // namespace poprt
