// The contents of a plug-in, in the form in which the copies of this code in one process exchange
// them. It has C types only.
#pragma once

#include <stddef.h>

#include "poprt/plugin.h"

// All contents live as long as the process.
typedef struct poprt_plugin_contents {
  const char* name;
  const char* version;
  const char* path;
  const char* hash;  // of the file
  const poprt_operator* operators;
  size_t operator_count;
  const poprt_pass* passes;
  size_t pass_count;
  const poprt_pattern* patterns;
  size_t pattern_count;
  const poprt_transform* transforms;
  size_t transform_count;
} poprt_plugin_contents;
