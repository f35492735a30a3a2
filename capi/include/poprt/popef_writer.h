/* Writing PopEF: to a file or a stream, blob by blob, payloads piece by piece.
 *
 * One blob writer is active at a time: beginning the next blob finishes the last one. When a blob
 * cannot be finished (wrong size, full disk) the whole writer has failed: everything else is
 * failed_precondition, and a file that was being written stays as it was before. A writer and its
 * blob writers belong to one thread at a time; they may be freed in any order.
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
  POPRT_POPEF_TRUNCATE = 0, /* the new file takes the place of the old one when it is closed */
  POPRT_POPEF_APPEND = 1    /* adds blobs to a PopEF file, or makes a new one */
};

/* Errors: not_found (the folder), permission_denied, resource_exhausted (disk full), unavailable
 * (another writer is appending), data_loss (appending to what is no PopEF file). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_create(const char* path,
                                                                poprt_popef_mode mode,
                                                                poprt_popef_writer** out_writer);
/* Gives bytes to `write`, front to back, each blob when it is finished; until then it is in memory.
 * When `write` returns non-zero the writer fails with cancelled. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_create_stream(
    poprt_write_fn write, void* user_data, poprt_popef_writer** out_writer);
/* Finishes the active blob and the writer; a file is there from now on. Does nothing the second
 * time. Errors: resource_exhausted, cancelled, failed_precondition (it failed before),
 * invalid_argument (a blob lacks bytes). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_close(poprt_popef_writer* writer);
/* Null is allowed. Without close nothing is written: a file stays, or becomes again, what it was.
 * Its blob writers are then closed. Since 0.1. */
POPRT_API void poprt_popef_writer_free(poprt_popef_writer* writer);

/* Writes a whole metadata blob. Errors: as poprt_popef_writer_begin. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_add_metadata(
    poprt_popef_writer* writer, const poprt_popef_metadata* metadata);
/* Begins a blob of any type but metadata. Errors: failed_precondition (no name, an executable's
 * name for the second time, a writer that is closed or has failed), invalid_argument (a type that
 * PopEF does not have; the last blob lacks bytes), resource_exhausted, cancelled. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_begin(poprt_popef_writer* writer,
                                                               const poprt_popef_blob_info* info,
                                                               poprt_popef_blob_writer** out_blob);
/* Begins several feeds that are filled side by side, step by step, as a data loader makes them. All
 * belong to the executable of the first one. Errors: as poprt_popef_writer_begin. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_writer_begin_feeds(
    poprt_popef_writer* writer, const poprt_popef_blob_info* const* feeds, size_t feed_count,
    poprt_popef_blob_writer** out_blob);

/* Appends bytes to the blob, or to feed `feed` of several (0 otherwise). They are copied. Errors:
 * failed_precondition (another blob was begun, or it is closed), invalid_argument (more bytes than
 * it takes, no such feed), resource_exhausted. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_writer_write(poprt_popef_blob_writer* blob,
                                                                    size_t feed, const void* data,
                                                                    size_t bytes);
/* Finishes the blob; does nothing when it is finished. Errors: invalid_argument (it lacks bytes),
 * resource_exhausted, cancelled. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_writer_close(poprt_popef_blob_writer* blob);
/* Null is allowed. Without close, and while it is active, the whole writer fails. Since 0.1. */
POPRT_API void poprt_popef_blob_writer_free(poprt_popef_blob_writer* blob);

#ifdef __cplusplus
}
#endif
#endif
