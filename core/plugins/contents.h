// What a plug-in has added, as the copies of this code in one process tell each other: C types
// only.
#pragma once

#include <stddef.h>

#include "poprt/plugin.h"

// Everything lives as long as the process.
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
