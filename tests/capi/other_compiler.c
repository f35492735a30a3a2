/* A compiler's plug-in of which only the version is there, and not that of this library. */
#include <stdint.h>

#include "poprt/version.h"

typedef struct poprt_compiler_plugin {
  int32_t version;
} poprt_compiler_plugin;

__attribute__((visibility("default"))) const poprt_compiler_plugin* poprt_compiler_plugin_table(
    void);

const poprt_compiler_plugin* poprt_compiler_plugin_table(void) {
  static const poprt_compiler_plugin plugin = {POPRT_VERSION + 1};
  return &plugin;
}
