// The level that the environment asks for.
#pragma once

namespace poprt {

// Once in a process: warns when POPRT_LOG_LEVEL or MODEL_RUNTIME_LOG_LEVEL names no level. For the
// library that programs link: its compiler plugin reads the same variables and says nothing.
void warn_of_log_level();

}  // namespace poprt
