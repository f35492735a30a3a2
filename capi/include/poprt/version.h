/* The version of the library. Check poprt_version() at load time because another copy may have been
 * loaded. A program works with later versions of the same major version (capi/ABI.md).
 *
 * Example:
 *     if (poprt_version() / 1000000 != POPRT_VERSION_MAJOR || poprt_version() < POPRT_VERSION) {
 *       fprintf(stderr, "built for poprt %d.%d, found %s\n", POPRT_VERSION_MAJOR,
 *               POPRT_VERSION_MINOR, poprt_version_string());
 *       exit(1);
 *     }
 */
#ifndef POPRT_VERSION_H
#define POPRT_VERSION_H

#include "poprt/api.h"

#define POPRT_VERSION_MAJOR 1
#define POPRT_VERSION_MINOR 0
#define POPRT_VERSION_PATCH 0
/* major * 1000000 + minor * 1000 + patch */
#define POPRT_VERSION \
  (POPRT_VERSION_MAJOR * 1000000 + POPRT_VERSION_MINOR * 1000 + POPRT_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* POPRT_VERSION of the loaded library. Since 0.1. */
POPRT_API int32_t poprt_version(void);
/* "1.0.0"; static storage. Since 0.1. */
POPRT_API const char* poprt_version_string(void);

#ifdef __cplusplus
}
#endif
#endif
