// Logging inside the library: one named spdlog logger, its level from POPRT_LOG_LEVEL
// (TRACE DEBUG INFO WARNING ERROR CRITICAL OFF; default WARNING), output on stderr.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

namespace poprt {

// Made on first use; safe from any thread.
spdlog::logger& log();

// Accepts the names above in any case, plus WARN and ERR. False when the name is unknown.
bool set_log_level(std::string_view level);

}  // namespace poprt
