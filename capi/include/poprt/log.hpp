// Logging. poprt.hpp includes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "poprt/error.hpp"
#include "poprt/log.h"

namespace poprt {
inline namespace v1 {

enum class LogLevel : int32_t {
  trace = POPRT_LOG_TRACE,
  debug = POPRT_LOG_DEBUG,
  info = POPRT_LOG_INFO,
  warning = POPRT_LOG_WARNING,
  error = POPRT_LOG_ERROR,
  critical = POPRT_LOG_CRITICAL,
};

// TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF.
inline void setLogLevel(const std::string& level) {
  detail::check(poprt_log_set_level(detail::text(level, "level")));
}

using LogCallback = std::function<void(LogLevel level, const std::string& message)>;

// Redirects messages from stderr to `callback`; an empty one restores stderr. It is called on the
// thread that logs, by one thread at a time, and must not call the library. It should not throw:
// exceptions are ignored. After this function has returned, the previous callback is not called
// again.
inline void setLogCallback(LogCallback callback) {
  struct Current {
    std::mutex setting;
    std::unique_ptr<LogCallback> callback;
  };
  static auto* const current = new Current;  // never destroyed: threads may log at exit
  auto next = callback ? std::make_unique<LogCallback>(std::move(callback)) : nullptr;
  const std::lock_guard<std::mutex> one(current->setting);
  const poprt_log_fn call = [](poprt_log_level level, const char* message, void* self) {
    try {
      (*static_cast<LogCallback*>(self))(static_cast<LogLevel>(level), message);
    } catch (...) {  // exceptions must not pass through C code
    }
  };
  poprt_log_set_callback(next ? call : nullptr, next.get());
  current->callback = std::move(next);
}

}  // namespace v1
}  // namespace poprt
