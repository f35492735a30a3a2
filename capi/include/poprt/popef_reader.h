/* Reading PopEF files: finds blobs without reading their payloads, which stay where they are.
 *
 * Everything in a file is checked before it is believed. Do not change a file while something that
 * was read from it is used (replacing it by rename is fine). Parsing belongs to one thread;
 * afterwards any may read.
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
  POPRT_POPEF_OPAQUE = 5  /* bytes of whoever wrote them */
};

typedef struct poprt_popef_reader poprt_popef_reader;
/* Borrowed from the reader or model that gave it. Immutable; any thread. */
typedef struct poprt_popef_blob poprt_popef_blob;
typedef struct poprt_popef_payload poprt_popef_payload;

/* An empty reader; several parse calls accumulate, one that fails adds nothing. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_create(poprt_popef_reader** out_reader);
/* A reader of its own with what `reader` has read so far; the bytes are shared. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_copy(const poprt_popef_reader* reader,
                                                              poprt_popef_reader** out_reader);
/* Maps a file. What the reader gave before stays valid. Errors: not_found, permission_denied,
 * data_loss (not a PopEF file, damaged, truncated), failed_precondition (made by a newer version;
 * an executable's name is there twice). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_parse_file(poprt_popef_reader* reader,
                                                                    const char* path);
/* Same from memory; the bytes are copied. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_parse_bytes(poprt_popef_reader* reader,
                                                                     const void* data, size_t size);

/* Where PopEF lies in something of the caller's, of any size: its bytes do not change. Set
 * struct_size. */
typedef struct poprt_popef_source {
  size_t struct_size;
  uint64_t size; /* bytes */
  /* Writes `bytes` bytes, at least one, from `offset` on to `data`; non-zero: it cannot. One call
   * at a time, on whatever thread asks for a payload. */
  int32_t (*read)(uint64_t offset, void* data, size_t bytes, void* user_data);
  /* The last call, when nothing that was read from it is left. May be null. */
  void (*release)(void* user_data);
  void* user_data;
} poprt_popef_source;

/* Same from a source, which is asked for headers now and for payloads when they are read. It is
 * released when the call fails, too. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_parse_source(
    poprt_popef_reader* reader, const poprt_popef_source* source);
/* Null is allowed. Models and payloads go on. Any thread. Since 0.1. */
POPRT_API void poprt_popef_reader_free(poprt_popef_reader* reader);

/* Number of blobs of a type, in the order of the files. 0 for null and an unknown type. Since 0.1.
 */
POPRT_API size_t poprt_popef_reader_count(const poprt_popef_reader* reader,
                                          poprt_popef_blob_type type);
/* Borrowed from the reader. Null when there is none, and for metadata. Since 0.1. */
POPRT_API const poprt_popef_blob* poprt_popef_reader_blob(const poprt_popef_reader* reader,
                                                          poprt_popef_blob_type type, size_t index);
/* Borrowed from the reader. Null when there is none. Since 0.1. */
POPRT_API const poprt_popef_metadata* poprt_popef_reader_metadata(const poprt_popef_reader* reader,
                                                                  size_t index);
/* What was odd but no error, one line each. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_reader_warnings(const poprt_popef_reader* reader,
                                                                  poprt_string** out_text);

/* What a blob is; a reader's can be given to a writer as it is. Set struct_size to
 * sizeof(poprt_popef_blob_info), and what does not fit the type to zero. */
typedef struct poprt_popef_blob_info {
  size_t struct_size;
  poprt_popef_blob_type type;
  int32_t compressed;     /* executables: non-zero when it is stored so */
  const char* name;       /* of tensors and feeds: the anchor's */
  const char* executable; /* which one it belongs to; "" or null: any. Not for executables */
  poprt_dtype dtype;      /* tensors and feeds */
  int32_t reserved;       /* 0 */
  const int64_t* shape;   /* of one tensor; `rank` dimensions, null for a scalar */
  size_t rank;
  int64_t tensor_count; /* feeds: how many tensors lie back to back */
  size_t bytes;         /* of the payload, decompressed; writers take no notice of it */
} poprt_popef_blob_info;

/* Fills `out_info`; what it points to is borrowed from the blob.
 * Errors: invalid_argument (struct_size). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_get_info(const poprt_popef_blob* blob,
                                                                poprt_popef_blob_info* out_info);

/* The whole payload in memory: the file's map itself, so that nothing is copied, but for compressed
 * executables. Errors: data_loss (a compressed one is damaged), resource_exhausted. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_map(const poprt_popef_blob* blob,
                                                           poprt_popef_payload** out_payload);
/* Copies `bytes` bytes from `offset` on into the caller's memory. Errors: out_of_range, and as
 * poprt_popef_blob_map; then `data` may have been written to. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_blob_read(const poprt_popef_blob* blob,
                                                            size_t offset, void* data,
                                                            size_t bytes);

/* Which class of PopEF error it is: a code alone does not tell a missing link from a newer file. */
typedef int32_t poprt_popef_error_class;
enum {
  POPRT_POPEF_NO_CLASS = 0,        /* not one of the PopEF functions' own */
  POPRT_POPEF_FILE_ERROR = 1,      /* a file cannot be opened, read or written */
  POPRT_POPEF_FORMAT_ERROR = 2,    /* bytes that are not what the format says */
  POPRT_POPEF_VERSION_ERROR = 3,   /* the file needs a newer library */
  POPRT_POPEF_LINK_ERROR = 4,      /* a name is there twice, or is missing */
  POPRT_POPEF_INACTIVE_WRITER = 5, /* a writer that is closed, replaced or has failed */
  POPRT_POPEF_SIZE_ERROR = 6       /* data of another size than was announced */
};
/* POPRT_POPEF_NO_CLASS for null. Since 1.0. */
POPRT_API poprt_popef_error_class poprt_popef_error_get_class(const poprt_error* error);

/* The bytes, read-only, for as long as the payload lives, whatever else is freed. Null for null.
 * Any thread. Since 0.1. */
POPRT_API const void* poprt_popef_payload_data(const poprt_popef_payload* payload);
/* 0 for null. Since 0.1. */
POPRT_API size_t poprt_popef_payload_size(const poprt_popef_payload* payload);
/* Null is allowed. Any thread. Since 0.1. */
POPRT_API void poprt_popef_payload_free(poprt_popef_payload* payload);

#ifdef __cplusplus
}
#endif
#endif
