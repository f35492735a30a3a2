// The log level that the environment sets.
#pragma once

namespace poprt {

// Warns, once in a process, if POPRT_LOG_LEVEL or MODEL_RUNTIME_LOG_LEVEL does not name a level.
// Called where libpoprt.so makes a compiler or loads a model, and by poprt_exec. The compiler
// library, which reads the same variables, does not call it, because libpoprt.so has already
// warned.
void warn_of_unknown_log_level();

}  // namespace poprt
