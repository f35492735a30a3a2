// The log level that the environment sets.
#pragma once

namespace poprt {

// Warns, once in a process, if POPRT_LOG_LEVEL or MODEL_RUNTIME_LOG_LEVEL does not name a level.
// Only libpoprt.so calls it: the compiler library reads the same variables without a warning.
void warn_of_unknown_log_level();

}  // namespace poprt
