// Logging inside the library: one named spdlog logger, its level from POPRT_LOG_LEVEL
// (TRACE DEBUG INFO WARNING ERROR CRITICAL OFF; default WARNING), output on stderr or to a
// receiver.
#pragma once

#include <spdlog/spdlog.h>

#include <cstdint>
#include <string_view>

namespace poprt {

// Made on first use; safe from any thread.
spdlog::logger& log();

// Accepts the names above in any case, plus WARN and ERR. False when the name is unknown.
bool set_log_level(std::string_view level);

// Takes messages in place of stderr: spdlog's number of the level, text without line end. Called on
// any thread, by several at once. Null: stderr again; a call of the receiver before may be under
// way.
using LogReceiver = void (*)(int32_t level, const char* message);
void set_log_receiver(LogReceiver receiver);

}  // namespace poprt
