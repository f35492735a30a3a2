/* Reads PopEF files: finds blobs without reading or copying their payloads.
 *
 * All data of a file is checked before use. Do not change a file while data that was read from it
 * is used (replacing it by rename is safe). Only one thread may parse. Afterwards any thread may
 * read.
 *
 * Example:
 *     poprt_popef_reader* reader = NULL;
 *     check(poprt_popef_reader_create(&reader));
 *     check(poprt_popef_reader_parse_file(reader, "digits.popef"));
 *     for (size_t i = 0; i < poprt_popef_reader_count(reader, POPRT_POPEF_TENSOR); i++) {
 *       const poprt_popef_blob* blob = poprt_popef_reader_blob(reader, POPRT_POPEF_TENSOR, i);
 *       poprt_popef_blob_info info = {0};
 *       poprt_popef_payload* payload = NULL;
 *       info.struct_size = sizeof info;
 *       check(poprt_popef_blob_get_info(blob, &info));
 *       check(poprt_popef_blob_map(blob, &payload));
 *       printf("%s: %zu bytes at %p\n", info.name, poprt_popef_payload_size(payload),
 *              poprt_popef_payload_data(payload));
 *       poprt_popef_payload_free(payload);
 *     }
 *     poprt_popef_reader_free(reader);
 */
#ifndef POPRT_POPEF_READER_H
#define POPRT_POPEF_READER_H

#include "poprt/anchor.h"
#include "poprt/error.h"
#include "poprt/popef_metadata.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t poprt_popef_blob_type;
enum {
  POPRT_POPEF_EXECUTABLE = 1,
  POPRT_POPEF_METADATA_BLOB = 2,
  POPRT_POPEF_TENSOR = 3, /* the value of one anchor */
  POPRT_POPEF_FEED = 4,   /* a sequence of values of one anchor */
  POPRT_POPEF_OPAQUE = 5  /* bytes without a defined format */
};

typedef struct poprt_popef_reader poprt_popef_reader;
/* Borrowed from the reader or model that returned it. Immutable; any thread. */
typedef struct poprt_popef_blob poprt_popef_blob;
typedef struct poprt_popef_payload poprt_popef_payload;

/* Creates an empty reader. Several parse calls accumulate blobs; a call that fails adds none.
 * Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_create(poprt_popef_reader** out_reader);
/* Creates an independent reader with the blobs of `reader`. The bytes are shared. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_copy(const poprt_popef_reader* reader,
                                                              poprt_popef_reader** out_reader);
/* Maps a file. Blobs that the reader returned before stay valid. Errors: not_found,
 * permission_denied, data_loss (not a PopEF file, damaged, truncated), failed_precondition
 * (written by a newer version; the name of an executable is duplicated). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_parse_file(poprt_popef_reader* reader,
                                                                    const char* path);
/* Parses a file in memory. The bytes are copied. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_parse_bytes(poprt_popef_reader* reader,
                                                                     const void* data, size_t size);

/* PopEF data that the caller reads by position, of any size. The bytes must not change. Set
 * struct_size. */
typedef struct poprt_popef_source {
  size_t struct_size;
  uint64_t size; /* bytes */
  /* Writes `bytes` bytes, at least one, from `offset` on to `data`. Returns non-zero for an error.
   * There is one call at a time, on the thread that parses or requests a payload. */
  int32_t (*read)(uint64_t offset, void* data, size_t bytes, void* user_data);
  /* The last call, when no data of the source is in use. May be null. */
  void (*release)(void* user_data);
  void* user_data;
} poprt_popef_source;

/* Parses a source: reads headers now, and payloads on request. The source is also released if
 * the call fails, except if struct_size is too small for release and user_data. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_parse_source(
    poprt_popef_reader* reader, const poprt_popef_source* source);
/* Null is allowed. Models and payloads remain valid. Any thread. Since 0.1. */
POPRT_API void poprt_popef_reader_free(poprt_popef_reader* reader);

/* The number of blobs of a type, in the order of the files; 0 for null and an unknown type.
 * Since 0.1. */
POPRT_API size_t poprt_popef_reader_count(const poprt_popef_reader* reader,
                                          poprt_popef_blob_type type);
/* Borrowed from the reader. Null if there is none, and for metadata. Since 0.1. */
POPRT_API const poprt_popef_blob* poprt_popef_reader_blob(const poprt_popef_reader* reader,
                                                          poprt_popef_blob_type type, size_t index);
/* Borrowed from the reader. Null if there is none. Since 0.1. */
POPRT_API const poprt_popef_metadata* poprt_popef_reader_metadata(const poprt_popef_reader* reader,
                                                                  size_t index);
/* Returns warnings about unusual data that is not an error, one line each. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_warnings(const poprt_popef_reader* reader,
                                                                  poprt_string** out_text);

/* The description of a blob. A writer accepts the description from a reader. Set struct_size to
 * sizeof(poprt_popef_blob_info), and fields that do not apply to the type to zero. */
typedef struct poprt_popef_blob_info {
  size_t struct_size;
  poprt_popef_blob_type type;
  int32_t compressed;     /* executables: non-zero if it is stored compressed */
  const char* name;       /* of tensors and feeds: the anchor's */
  const char* executable; /* the executable to which it belongs; "" or null: any. Not for
                           * executables */
  poprt_dtype dtype;      /* tensors and feeds */
  int32_t reserved;       /* 0 */
  const int64_t* shape;   /* of one tensor; `rank` dimensions, null for a scalar */
  size_t rank;
  int64_t tensor_count; /* feeds: number of consecutive tensors */
  size_t bytes;         /* of the payload, decompressed; writers ignore it */
} poprt_popef_blob_info;

/* Fills `out_info`. Its pointers are borrowed from the blob. Errors: invalid_argument
 * (struct_size). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_get_info(const poprt_popef_blob* blob,
                                                                poprt_popef_blob_info* out_info);

/* Returns the whole payload in memory. It is the map of the file, without a copy, except for
 * compressed executables and for blobs of a poprt_popef_source. Errors: data_loss (compressed data
 * is damaged, or the source fails), resource_exhausted. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_map(const poprt_popef_blob* blob,
                                                           poprt_popef_payload** out_payload);
/* Copies `bytes` bytes from `offset` on into the caller's memory. Errors: out_of_range, and as
 * poprt_popef_blob_map; `data` may then have been written partially. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_read(const poprt_popef_blob* blob,
                                                            size_t offset, void* data,
                                                            size_t bytes);

/* The class of a PopEF error, because the error code does not distinguish a missing link from a
 * newer file. */
typedef int32_t poprt_popef_error_class;
enum {
  POPRT_POPEF_NO_CLASS = 0,        /* not an error of a PopEF function */
  POPRT_POPEF_FILE_ERROR = 1,      /* a file cannot be opened, read or written */
  POPRT_POPEF_FORMAT_ERROR = 2,    /* bytes that violate the format */
  POPRT_POPEF_VERSION_ERROR = 3,   /* the file needs a newer library */
  POPRT_POPEF_LINK_ERROR = 4,      /* a name is duplicated or missing */
  POPRT_POPEF_INACTIVE_WRITER = 5, /* a writer that is closed, replaced or has failed */
  POPRT_POPEF_SIZE_ERROR = 6       /* data with another size than declared */
};
/* POPRT_POPEF_NO_CLASS for null. Since 1.0. */
POPRT_API poprt_popef_error_class poprt_popef_error_get_class(const poprt_error* error);

/* The read-only bytes, valid until the payload is freed, independent of other objects; null for
 * null. Any thread. Since 0.1. */
POPRT_API const void* poprt_popef_payload_data(const poprt_popef_payload* payload);
/* 0 for null. Since 0.1. */
POPRT_API size_t poprt_popef_payload_size(const poprt_popef_payload* payload);
/* Null is allowed. Any thread. Since 0.1. */
POPRT_API void poprt_popef_payload_free(poprt_popef_payload* payload);

#ifdef __cplusplus
}
#endif
#endif
