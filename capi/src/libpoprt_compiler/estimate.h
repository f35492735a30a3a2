// Estimates of a model on a chip (docs/chip.md), with the options of a compilation.
#pragma once

#include <string>

#include "compiler_library.h"

namespace poprt::capi {

// The function of poprt_compiler_library with this name.
void estimate(const poprt_compile_options* options, const poprt_library_source* source,
              const poprt_library_sink* sink, poprt_library_error* error);

// The content of the opaque blob of option `estimate`: the report as JSON, without operations.
// Warnings of the conversion are not repeated.
std::string estimate_blob(const poprt_compile_options& options, const poprt_library_source& source);

}  // namespace poprt::capi
