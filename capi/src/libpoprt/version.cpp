#include "poprt/version.h"

#define POPRT_TEXT(x) #x
#define POPRT_VALUE(x) POPRT_TEXT(x)

int32_t poprt_version(void) { return POPRT_VERSION; }

const char* poprt_version_string(void) {
  return POPRT_VALUE(POPRT_VERSION_MAJOR) "." POPRT_VALUE(POPRT_VERSION_MINOR) "." POPRT_VALUE(
      POPRT_VERSION_PATCH);
}
