#include "popef/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace poprt::popef {
namespace {

std::optional<spdlog::level::level_enum> level_of(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name == "OFF") return spdlog::level::off;
  if (name == "ERR") return spdlog::level::err;
  if (name == "WARN") return spdlog::level::warn;
  if (name == "INFO") return spdlog::level::info;
  if (name == "DEBUG") return spdlog::level::debug;
  if (name == "TRACE") return spdlog::level::trace;
  return std::nullopt;
}

// Outside spdlog's registry: an application that uses spdlog itself keeps its own loggers.
std::unique_ptr<spdlog::logger> make(const char* level, const char* destination) {
  const std::string wanted_level = level && *level ? level : "OFF";
  const std::string wanted = destination && *destination ? destination : "stderr";
  const auto known = level_of(wanted_level);
  std::string complaint;
  spdlog::sink_ptr sink;
  if (wanted == "stdout") {
    sink = std::make_shared<spdlog::sinks::stdout_color_sink_mt>();
  } else if (wanted != "stderr" && known.value_or(spdlog::level::off) != spdlog::level::off) {
    try {
      // spdlog would make the folder: a path that is mistyped is an error instead.
      const auto folder = std::filesystem::path(wanted).parent_path();
      if (!folder.empty() && !std::filesystem::is_directory(folder))
        complaint = fmt::format("POPEF_LOG_DEST: there is no folder '{}'", folder.string());
      else
        sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(wanted);
    } catch (const std::exception& e) {
      complaint = fmt::format("POPEF_LOG_DEST: {}", e.what());
    }
  }
  if (!sink) sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_unique<spdlog::logger>("popef", std::move(sink));
  logger->set_pattern("[%H:%M:%S.%e] [%n] [%^%l%$] %v");
  logger->flush_on(spdlog::level::trace);
  logger->set_level(spdlog::level::err);
  if (!known)
    logger->error("POPEF_LOG_LEVEL is '{}', expected OFF, ERR, WARN, INFO, DEBUG or TRACE", level);
  if (!complaint.empty()) logger->error("{}", complaint);
  logger->set_level(known.value_or(spdlog::level::off));
  return logger;
}

// Never destroyed: threads may log while the process exits.
std::unique_ptr<spdlog::logger>& current() {
  static auto* const logger = new std::unique_ptr<spdlog::logger>(
      make(std::getenv("POPEF_LOG_LEVEL"), std::getenv("POPEF_LOG_DEST")));
  return *logger;
}

}  // namespace

spdlog::logger& log() { return *current(); }

void configure_log(const char* level, const char* destination) {
  current() = make(level, destination);
}

}  // namespace poprt::popef
