/* Describes and exports the contents of PopEF files.
 *
 * Example:
 *     poprt_string* text = NULL;
 *     check(poprt_popef_dump("digits.popef", POPRT_POPEF_USER_ANCHORS, &text));
 *     puts(poprt_string_data(text));
 *     poprt_string_free(text);
 */
#ifndef POPRT_POPEF_H
#define POPRT_POPEF_H

#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t poprt_popef_format;
enum {
  POPRT_POPEF_SUMMARY = 0,      /* blobs and user anchors */
  POPRT_POPEF_METADATA = 1,     /* all metadata */
  POPRT_POPEF_ALL = 2,          /* also the header of every blob */
  POPRT_POPEF_JSON = 3,         /* all of the above as JSON */
  POPRT_POPEF_USER_ANCHORS = 4, /* anchors that the caller must serve */
  POPRT_POPEF_VERIFY = 5        /* whether the checksums of all blobs are right, in one line */
};

/* Describes the file. Damaged parts are an error, and unknown blobs are listed. Large payloads are
 * read only to verify them; then data_loss names the blob whose checksum differs. Errors:
 * not_found, permission_denied, data_loss, failed_precondition (written by a newer version; the
 * name of an executable is duplicated), invalid_argument (format). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_dump(const char* path, poprt_popef_format format,
                                                       poprt_string** out_text);

/* Write the data of a tensor or feed blob to a NumPy .npy file, with constant memory. The file
 * is written completely or not at all. The first dimension of a feed is its number of tensors.
 * 8-bit floats are written as uint8. `executable` names the model of the data; null: any. If
 * several blobs have the name, the last one is exported. Errors: as poprt_popef_dump, and
 * not_found if there is no such blob (the message lists the existing ones). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_export_tensor(const char* path, const char* name,
                                                                const char* executable,
                                                                const char* npy_path);
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_export_feed(const char* path, const char* name,
                                                              const char* executable,
                                                              const char* npy_path);

#ifdef __cplusplus
}
#endif
#endif
