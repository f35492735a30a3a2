// The compiler plugin's functions for runners with faithful numerics.
#pragma once

#include "compiler_plugin.h"

namespace poprt::capi {

// poprt_compiler_plugin's functions of these names.
void* faithful_open(const poprt_plugin_faithful* model, poprt_plugin_error* error);
void faithful_run(const void* model, const poprt_plugin_tensor* inputs, size_t input_count,
                  const poprt_plugin_tensor* outputs, size_t output_count,
                  poprt_plugin_error* error);
void faithful_close(void* model);

}  // namespace poprt::capi
