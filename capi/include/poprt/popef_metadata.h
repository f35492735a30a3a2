/* The metadata of an executable in a PopEF file: its target, its programs and its anchors.
 *
 * Metadata of a reader or model is borrowed from it and immutable. The caller owns the metadata
 * that create returns, and may change it on one thread at a time.
 *
 * Example:
 *     poprt_popef_metadata* metadata = NULL;
 *     const uint32_t main_programs[] = {1};
 *     const int64_t shape[] = {1, 28, 28};
 *     poprt_popef_anchor image = {0};
 *     check(poprt_popef_metadata_create(NULL, &metadata));
 *     check(poprt_popef_metadata_set_executable(metadata, "digits"));
 *     check(poprt_popef_metadata_set(metadata, POPRT_POPEF_NUM_IPUS, 1));
 *     check(poprt_popef_metadata_set_flow(metadata, POPRT_POPEF_MAIN, main_programs, 1));
 *     image.struct_size = sizeof image;
 *     image.name = image.handle = "image";
 *     image.type = POPRT_POPEF_INPUT;
 *     image.dtype = POPRT_DTYPE_F32;
 *     image.shape = shape;
 *     image.rank = 3;
 *     image.programs = main_programs;
 *     image.program_count = 1;
 *     check(poprt_popef_metadata_add_anchor(metadata, &image));
 *     poprt_popef_metadata_free(metadata);
 */
#ifndef POPRT_POPEF_METADATA_H
#define POPRT_POPEF_METADATA_H

#include "poprt/anchor.h"
#include "poprt/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poprt_popef_metadata poprt_popef_metadata;

/* Creates metadata with the values of `from`, or with the defaults if `from` is null: one
 * replica on one IPU of version 2, one process, inference, one iteration, and everything else
 * empty. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_create(
    const poprt_popef_metadata* from, poprt_popef_metadata** out_metadata);
/* Frees metadata that create returned. Null is allowed. Any thread. Since 0.1. */
POPRT_API void poprt_popef_metadata_free(poprt_popef_metadata* metadata);

/* tests/lint/popef_fields.py generates these from core/popef/metadata.toml. */
typedef int32_t poprt_popef_field;
enum {
  /* <popef:numbers> */
  /* Number of replicas that are compiled in. Since 0.1. */
  POPRT_POPEF_REPLICATION_FACTOR = 1,
  /* Number of IPUs that all replicas use together. Since 0.1. */
  POPRT_POPEF_NUM_IPUS = 2,
  /* Version of the IPU that the executable was compiled for: 1, 2 or 21. Since 0.1. */
  POPRT_POPEF_IPU_VERSION = 3,
  /* Whether the executable is for a POD. Since 0.1. */
  POPRT_POPEF_IS_POD = 4,
  /* Number of host processes that work together. Since 0.1. */
  POPRT_POPEF_NUM_PROCESSES = 5,
  /* Whether the executable is for inference. Since 0.1. */
  POPRT_POPEF_IS_INFERENCE = 6,
  /* Number of transfers of each stream in one run of the main programs. Since 0.1. */
  POPRT_POPEF_DEVICE_ITERATIONS = 7,
  /* </popef:numbers> */
};

/* 0 for null and for an unknown field. Since 0.1. */
POPRT_API int64_t poprt_popef_metadata_get(const poprt_popef_metadata* metadata,
                                           poprt_popef_field field);
/* Errors: invalid_argument (unknown field, invalid value). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_set(poprt_popef_metadata* metadata,
                                                               poprt_popef_field field,
                                                               int64_t value);

/* <popef:texts> */
/* Name of the executable that the metadata describes. UTF-8, borrowed until it is set; "" for null.
 * Since 0.1. */
POPRT_API const char* poprt_popef_metadata_executable(const poprt_popef_metadata* metadata);
/* Sets it; the string is copied. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_set_executable(
    poprt_popef_metadata* metadata, const char* name);
/* Handle of the stream of the random seed; empty if there is none. UTF-8, borrowed until it is set;
 * "" for null. Since 0.1. */
POPRT_API const char* poprt_popef_metadata_seed_handle(const poprt_popef_metadata* metadata);
/* Sets it; the string is copied. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_set_seed_handle(
    poprt_popef_metadata* metadata, const char* handle);
/* </popef:texts> */

typedef int32_t poprt_popef_option_list;
enum {
  POPRT_POPEF_ENGINE_OPTIONS = 1, /* for the engine that runs the executable */
  POPRT_POPEF_DEVICE_OPTIONS = 2  /* for the choice of a device */
};

/* The number of options of a list; 0 for null and an unknown list. Since 0.1. */
POPRT_API size_t poprt_popef_metadata_option_count(const poprt_popef_metadata* metadata,
                                                   poprt_popef_option_list list);
/* The name of an option, and its value (`out_value` may be null). UTF-8, borrowed until the list
 * changes. If there is no such option, returns null and leaves the value unchanged. Since 0.1. */
POPRT_API const char* poprt_popef_metadata_option(const poprt_popef_metadata* metadata,
                                                  poprt_popef_option_list list, size_t index,
                                                  const char** out_value);
/* Appends an option. The strings are copied. Errors: invalid_argument (list). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_add_option(
    poprt_popef_metadata* metadata, poprt_popef_option_list list, const char* name,
    const char* value);

/* The programs of a phase, in order: load runs once, main repeatedly, save returns state to the
 * host. */
typedef int32_t poprt_popef_flow;
enum { POPRT_POPEF_LOAD = 1, POPRT_POPEF_MAIN = 2, POPRT_POPEF_SAVE = 3 };

/* The indices of programs, and their number (`out_count` may be null). Borrowed until they are
 * set; null and 0 if there are none, for null and for an unknown flow. Since 0.1. */
POPRT_API const uint32_t* poprt_popef_metadata_flow(const poprt_popef_metadata* metadata,
                                                    poprt_popef_flow flow, size_t* out_count);
/* Replaces the indices by copies of `programs`. Errors: invalid_argument (flow). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_set_flow(poprt_popef_metadata* metadata,
                                                                    poprt_popef_flow flow,
                                                                    const uint32_t* programs,
                                                                    size_t program_count);

/* The number of programs with a readable name; 0 for null. Since 0.1. */
POPRT_API size_t poprt_popef_metadata_program_count(const poprt_popef_metadata* metadata);
/* The name of the index-th of these programs in ascending order, and its program index
 * (`out_program` may be null). UTF-8, borrowed until a name is set; null after the end.
 * Since 0.1. */
POPRT_API const char* poprt_popef_metadata_program(const poprt_popef_metadata* metadata,
                                                   size_t index, uint32_t* out_program);
/* Names a program; the string is copied. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_set_program(
    poprt_popef_metadata* metadata, uint32_t program, const char* name);

typedef int32_t poprt_popef_anchor_type;
enum {
  POPRT_POPEF_UNKNOWN = 0, /* has data but no stream */
  POPRT_POPEF_INPUT = 1,   /* host to device */
  POPRT_POPEF_OUTPUT = 2   /* device to host */
};

/* A host-visible tensor of a model. Set struct_size to sizeof(poprt_popef_anchor) before the
 * struct is filled or passed. */
typedef struct poprt_popef_anchor {
  size_t struct_size;
  const char* name;   /* in the model; also the name of its tensor or feed blob */
  const char* handle; /* its stream; "" or null: no callback can be connected */
  poprt_popef_anchor_type type;
  poprt_dtype dtype;
  const int64_t* shape; /* of one transfer, or with is_per_replica of one for all replicas; `rank`
                         * dimensions, null for a scalar */
  size_t rank;
  const uint32_t* programs; /* the programs that use the stream */
  size_t program_count;
  int32_t is_per_replica; /* non-zero: dimension 0 is the replication factor */
  int32_t reserved;       /* 0 */
} poprt_popef_anchor;

/* 0 for null. Since 0.1. */
POPRT_API size_t poprt_popef_metadata_anchor_count(const poprt_popef_metadata* metadata);
/* Fills `out_anchor`. Its pointers are borrowed until an anchor is added. Errors:
 * invalid_argument (struct_size), out_of_range (index). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_anchor(
    const poprt_popef_metadata* metadata, size_t index, poprt_popef_anchor* out_anchor);
/* Appends a copy. Errors: invalid_argument (no name, a type that PopEF lacks, a negative
 * dimension). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_metadata_add_anchor(
    poprt_popef_metadata* metadata, const poprt_popef_anchor* anchor);

#ifdef __cplusplus
}
#endif
#endif
