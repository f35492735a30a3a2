// Suppresses warnings of a compilation that the conversion before it, on the same thread, has
// given. With kQuiet, all warnings are suppressed.
#pragma once

#include <poprt/compiler.h>

#include "base/log.h"
#include "compiler_library.h"

namespace poprt::capi {

// Passes each warning of a conversion once.
WarningFilter note_warnings(const poprt_compile_options& o, const poprt_library_source& source);

// Passes the warnings of an estimate that the last conversion or estimate of the same file has not
// given, and keeps them for later calls.
WarningFilter new_warnings(const poprt_compile_options& o, const poprt_library_source& source);

// Passes the warnings of a compilation that the conversion before it has not given. `sink` receives
// all warnings; it may be null, and must be valid while the filter exists.
WarningFilter skip_warnings(const poprt_compile_options& o, const poprt_library_source& source,
                            const poprt_library_sink* sink = nullptr);

}  // namespace poprt::capi
