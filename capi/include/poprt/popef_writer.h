/* Writes PopEF to a file or a stream, blob by blob, with payloads in pieces.
 *
 * One blob writer is active at a time: beginning the next blob finishes the last one. If a blob
 * cannot be finished (wrong size, full disk), the writer has failed: other calls return
 * failed_precondition, and the file is unchanged. A writer and its blob writers must be used by one
 * thread at a time. They may be freed in any order.
 *
 * Example:
 *     static void write_file(const poprt_popef_metadata* metadata, const void* code, size_t size) {
 *       poprt_popef_writer* writer = NULL;
 *       poprt_popef_blob_writer* blob = NULL;
 *       poprt_popef_blob_info info = {0};
 *       info.struct_size = sizeof info;
 *       info.type = POPRT_POPEF_EXECUTABLE;
 *       info.name = "digits";
 *       check(poprt_popef_writer_create("digits.popef", POPRT_POPEF_TRUNCATE, &writer));
 *       check(poprt_popef_writer_add_metadata(writer, metadata));
 *       check(poprt_popef_writer_begin(writer, &info, &blob));
 *       check(poprt_popef_blob_writer_write(blob, 0, code, size));
 *       check(poprt_popef_blob_writer_close(blob));
 *       check(poprt_popef_writer_close(writer));
 *       poprt_popef_blob_writer_free(blob);
 *       poprt_popef_writer_free(writer);
 *     }
 */
#ifndef POPRT_POPEF_WRITER_H
#define POPRT_POPEF_WRITER_H

#include "poprt/executable.h"
#include "poprt/popef_metadata.h"
#include "poprt/popef_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poprt_popef_writer poprt_popef_writer;
typedef struct poprt_popef_blob_writer poprt_popef_blob_writer;

typedef int32_t poprt_popef_mode;
enum {
  POPRT_POPEF_TRUNCATE = 0, /* the new file replaces the old one when it is closed */
  POPRT_POPEF_APPEND = 1    /* adds blobs to a PopEF file, or creates a new one */
};

/* Errors: not_found (the folder does not exist), permission_denied (the file cannot be created),
 * resource_exhausted (the disk is full), unavailable (another writer appends to the file),
 * data_loss (the file to append to is not PopEF). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_create(const char* path,
                                                                poprt_popef_mode mode,
                                                                poprt_popef_writer** out_writer);
/* Passes bytes to `write` from front to back. Each blob is kept in memory until it is finished.
 * If `write` returns non-zero, the writer fails with cancelled. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_create_stream(
    poprt_write_fn write, void* user_data, poprt_popef_writer** out_writer);
/* Finishes the active blob and the writer, and makes the file visible. A second call has no
 * effect. Errors: resource_exhausted, cancelled, failed_precondition (it failed before),
 * invalid_argument (a blob is incomplete). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_close(poprt_popef_writer* writer);
/* Null is allowed. Without close, no file is written: an existing one keeps or regains its
 * contents. The blob writers are then closed. Since 0.1. */
POPRT_API void poprt_popef_writer_free(poprt_popef_writer* writer);

/* Writes a whole metadata blob. Errors: as poprt_popef_writer_begin. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_add_metadata(
    poprt_popef_writer* writer, const poprt_popef_metadata* metadata);
/* Begins a blob of any type except metadata. Errors: failed_precondition (no name, a duplicate
 * name of an executable, a writer that is closed or has failed), invalid_argument (a type that
 * PopEF lacks; the last blob is incomplete), resource_exhausted, cancelled. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_begin(poprt_popef_writer* writer,
                                                               const poprt_popef_blob_info* info,
                                                               poprt_popef_blob_writer** out_blob);
/* Begins several feeds that are written alternately, as a data loader produces them. All belong
 * to the executable of the first one. Errors: as poprt_popef_writer_begin. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_begin_feeds(
    poprt_popef_writer* writer, const poprt_popef_blob_info* const* feeds, size_t feed_count,
    poprt_popef_blob_writer** out_blob);

/* Appends a copy of bytes to the blob, or to feed `feed` of several (0 otherwise). Errors:
 * failed_precondition (another blob was begun, or it is closed), invalid_argument (too many
 * bytes, no such feed), resource_exhausted. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_writer_write(poprt_popef_blob_writer* blob,
                                                                    size_t feed, const void* data,
                                                                    size_t bytes);
/* Finishes the blob; has no effect if it is finished. Errors: invalid_argument (it is
 * incomplete), resource_exhausted, cancelled. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_writer_close(poprt_popef_blob_writer* blob);
/* Null is allowed. If the blob is active and was not closed, the whole writer fails. Since 0.1. */
POPRT_API void poprt_popef_blob_writer_free(poprt_popef_blob_writer* blob);

#ifdef __cplusplus
}
#endif
#endif
