#include "poprt/log.h"

#include "base/log.h"
#include "compiler_loader.h"
#include "guard.h"

using namespace poprt;

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
