#include "poprt/log.h"

#include <sys/types.h>

#include <cstdio>
#include <mutex>

#include "base/fork_mutex.h"
#include "base/log.h"
#include "compiler_loader.h"
#include "guard.h"

using namespace poprt;

static_assert(POPRT_LOG_TRACE == static_cast<int>(LogLevel::trace) &&
              POPRT_LOG_CRITICAL == static_cast<int>(LogLevel::critical));

namespace {

// The user's callback. A lock is held during the call, so that no thread is inside a callback that
// was replaced.
struct Target {
  ForkMutex setting;  // one setter at a time
  ForkMutex calling;
  poprt_log_fn call = nullptr;
  void* user_data = nullptr;
  pid_t process = 0;  // the one that set the callback
};

constinit Target target;

// Receives the messages of this library and of the compiler.
void receive(int32_t level, const char* message) {
  Target& t = target;
  const std::lock_guard lock(t.calling);
  // This process was forked while another thread of its parent was in the callback, which may have
  // locks of the application, or was replacing the callback.
  if (t.calling.abandoned() && t.process != this_process())
    std::fprintf(stderr, "%s\n", message);
  else if (t.call)
    t.call(level, message, t.user_data);
}

}  // namespace

poprt_error* poprt_log_set_level(const char* level) {
  return capi::guard([&] {
    capi::required(level, "level");
    if (!set_log_level(level))
      fail(
          ErrorCode::invalid_argument,
          "log level '{}' is unknown; levels are TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL, OFF",
          level);
    capi::set_compiler_log_level(level);
  });
}

void poprt_log_set_callback(poprt_log_fn callback, void* user_data) {
  Target& t = target;
  const std::lock_guard one(t.setting);
  if (!callback) {  // a message must always find a receiver
    set_log_receiver(nullptr);
    capi::set_compiler_log_receiver(nullptr);
  }
  {
    const std::lock_guard lock(t.calling);
    t.call = callback;
    t.user_data = user_data;
    t.process = this_process();
  }
  if (!callback) return;
  set_log_receiver(receive);
  capi::set_compiler_log_receiver(receive);
}

void poprt_log_write(poprt_log_level level, const char* message) {
  if (!message) return;
  poprt_error_free(capi::guard([&] {
    switch (static_cast<LogLevel>(level)) {
      case LogLevel::trace: log().trace("{}", message); break;
      case LogLevel::debug: log().debug("{}", message); break;
      case LogLevel::info: log().info("{}", message); break;
      case LogLevel::warn: log().warn("{}", message); break;
      default: log().error("{}", message);
    }
  }));
}
