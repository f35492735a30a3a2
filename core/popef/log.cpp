#include "popef/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/first_use.h"
#include "base/fork_sink.h"

namespace poprt::popef {
namespace {

std::optional<LogLevel> level_of(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name == "OFF") return LogLevel::off;
  if (name == "ERR") return LogLevel::error;
  if (name == "WARN") return LogLevel::warn;
  if (name == "INFO") return LogLevel::info;
  if (name == "DEBUG") return LogLevel::debug;
  if (name == "TRACE") return LogLevel::trace;
  return std::nullopt;
}

// The logger is not in spdlog's registry, so it does not interfere with an application that uses
// spdlog itself.
std::unique_ptr<Logger> make(const char* level, const char* destination) {
  const std::string wanted_level = level && *level ? level : "OFF";
  const std::string wanted = destination && *destination ? destination : "stderr";
  const auto known = level_of(wanted_level);
  std::string complaint;
  std::unique_ptr<spdlog::sinks::sink> sink;
  if (wanted == "stdout") {
    sink = std::make_unique<spdlog::sinks::stdout_color_sink_st>();
  } else if (wanted != "stderr" && known.value_or(LogLevel::off) != LogLevel::off) {
    try {
      // spdlog would create the folder. A mistyped path is an error instead.
      const auto folder = std::filesystem::path(wanted).parent_path();
      if (!folder.empty() && !std::filesystem::is_directory(folder))
        complaint = fmt::format("POPEF_LOG_DEST: there is no folder '{}'", folder.string());
      else
        sink = std::make_unique<spdlog::sinks::basic_file_sink_st>(wanted);
    } catch (const std::exception& e) {
      complaint = fmt::format("POPEF_LOG_DEST: {}", e.what());
    }
  }
  if (!sink) sink = std::make_unique<spdlog::sinks::stderr_color_sink_st>();
  auto target = std::make_unique<spdlog::logger>(
      "popef", std::make_shared<ForkSink>(std::move(sink), [] {
        return std::make_unique<spdlog::pattern_formatter>("[%n] [%^%l%$] %v");
      }));
  target->set_pattern("[%H:%M:%S.%e] [%n] [%^%l%$] %v");
  target->flush_on(spdlog::level::trace);
  auto logger = std::make_unique<Logger>(std::move(target));
  if (!known)
    logger->error("POPEF_LOG_LEVEL is '{}', expected OFF, ERR, WARN, INFO, DEBUG or TRACE", level);
  if (!complaint.empty()) logger->error("{}", complaint);
  logger->set_level(known.value_or(LogLevel::off));
  return logger;
}

std::unique_ptr<Logger>& current() {
  static constinit FirstUse<std::unique_ptr<Logger>> made;
  return made.get(
      [] { return make(std::getenv("POPEF_LOG_LEVEL"), std::getenv("POPEF_LOG_DEST")); });
}

}  // namespace

Logger& log() { return *current(); }

void configure_log(const char* level, const char* destination) {
  current() = make(level, destination);
}

}  // namespace poprt::popef
