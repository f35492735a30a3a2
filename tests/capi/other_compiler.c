/* A compiler's plug-in of which only the version is there, and not that of this library. */
#include "poprt/version.h"

__attribute__((visibility("default"))) const void* poprt_compiler_plugin_table(void);

const void* poprt_compiler_plugin_table(void) {
  static const int version = POPRT_VERSION + 1;
  return &version;
}
