// Finds and loads the compiler plugin.
#pragma once

#include <string_view>

#include "base/log.h"
#include "compiler_plugin.h"

namespace poprt::capi {

// Loads it on first use, from the folder of this library. Throws failed_precondition saying where
// it was looked for and what went wrong; a later call tries again. Thread-safe.
const poprt_compiler_plugin& compiler_plugin();

// For a compiler that is loaded, or will be.
void set_compiler_log_level(const char* level);
void set_compiler_log_receiver(LogReceiver receiver);

}  // namespace poprt::capi
