// Functions of the compiler library for runners with faithful numerics.
#pragma once

#include "compiler_library.h"

namespace poprt::capi {

// The functions of poprt_compiler_library with these names.
void* faithful_open(const poprt_library_faithful* model, poprt_library_error* error);
void faithful_run(const void* model, const poprt_library_tensor* inputs, size_t input_count,
                  const poprt_library_tensor* outputs, size_t output_count,
                  poprt_library_error* error);
void faithful_close(void* model);

}  // namespace poprt::capi
