// What a conversion has warned of is not said again by the compilation after it.
#pragma once

#include <poprt/compiler.h>

#include "base/log.h"
#include "compiler_library.h"

namespace poprt::capi {

// Lets a conversion warn, once of each thing.
WarningFilter note_warnings(const poprt_compile_options& o, const poprt_library_source& source);

// Lets a compilation warn of what the conversion before it has not warned of.
WarningFilter skip_warnings(const poprt_compile_options& o, const poprt_library_source& source);

}  // namespace poprt::capi
