// Finds and loads the compiler library, libpoprt_compiler.so.
#pragma once

#include <string_view>

#include "base/log.h"
#include "compiler_library.h"

namespace poprt::capi {

// Loads the library on first use, from the folder of this one. Throws failed_precondition with the
// path and the reason; a later call tries again. Thread-safe.
const poprt_compiler_library& compiler_library();

// For the compiler library, whether it is loaded already or later.
void set_compiler_log_level(const char* level);
void set_compiler_log_receiver(LogReceiver receiver);

}  // namespace poprt::capi
