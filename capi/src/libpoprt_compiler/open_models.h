// Models whose shapes are compiled on demand (core/compiler/open_shapes.h).
#pragma once

#include "compiler_library.h"

namespace poprt::capi {

// The functions of the table in compiler_library.h.
void* open_model(const poprt_compile_options* o, const poprt_library_source* source,
                 const poprt_library_sink* description, int* out_complete,
                 poprt_library_error* error);
void compile_open_model(void* model, const poprt_compile_options* o, int first,
                        const poprt_library_sink* sink, poprt_library_error* error);
void close_open_model(void* model);

}  // namespace poprt::capi
