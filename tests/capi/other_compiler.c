/* A compiler library that has only a version, and not the version of this library. */
#include <stdint.h>

#include "poprt/version.h"

typedef struct poprt_compiler_library {
  int32_t version;
} poprt_compiler_library;

__attribute__((visibility("default"))) const poprt_compiler_library* poprt_compiler_library_table(
    void);

const poprt_compiler_library* poprt_compiler_library_table(void) {
  static const poprt_compiler_library table = {POPRT_VERSION + 1};
  return &table;
}
