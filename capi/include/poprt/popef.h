/* Looking into PopEF files. */
#ifndef POPRT_POPEF_H
#define POPRT_POPEF_H

#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t poprt_popef_format;
enum {
  POPRT_POPEF_SUMMARY = 0,  /* blobs and user anchors */
  POPRT_POPEF_METADATA = 1, /* everything in the metadata */
  POPRT_POPEF_ALL = 2,      /* also every blob's header */
  POPRT_POPEF_JSON = 3      /* all of it, as JSON */
};

/* Describes the file; damaged parts are an error, unknown blobs are listed.
 * Errors: not_found, permission_denied, data_loss, invalid_argument (format). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_dump(const char* path, poprt_popef_format format,
                                                       poprt_string** out_text);

#ifdef __cplusplus
}
#endif
#endif
