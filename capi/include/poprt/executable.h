/* Executables: compiled models, from the compiler or from a PopEF file.
 *
 * Example:
 *     poprt_executable* executable = NULL;
 *     check(poprt_executable_open("digits.popef", &executable));
 *     for (size_t i = 0; i < poprt_executable_input_count(executable); i++)
 *       puts(poprt_anchor_name(poprt_executable_input(executable, i)));
 *     poprt_executable_free(executable);
 */
#ifndef POPRT_EXECUTABLE_H
#define POPRT_EXECUTABLE_H

#include "poprt/anchor.h"
#include "poprt/error.h"
#include "poprt/popef_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Immutable; any number of threads and runners may use one at the same time. One whose shapes are
 * compiled on demand, without a shape that was compiled ahead, has no program: functions that need
 * it fail with failed_precondition. */
typedef struct poprt_executable poprt_executable;

/* Maps a PopEF file and checks it. Weights are used in the map without a copy, unless the
 * executable is compressed. Do not change the file while an executable or runner uses it (replacing
 * it by rename is safe). Errors: not_found, permission_denied, invalid_argument (a folder, device
 * or pipe), data_loss (not a PopEF file, damaged, truncated), failed_precondition (compiled by
 * another version, of a newer format, or with several executables in one file). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_open(const char* path,
                                                            poprt_executable** out_executable);

/* Opens a PopEF file in memory. The bytes are copied. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_open_bytes(
    const void* data, size_t size, poprt_executable** out_executable);

/* Set struct_size to sizeof(poprt_open_options) and the rest to zero; zero means default. */
typedef struct poprt_open_options {
  size_t struct_size;
  int32_t ignore_package_hash; /* non-zero: also opens an executable that another version
                                * compiled */
  int32_t reserved;            /* 0 */
  const char* executable;      /* its name if the files contain several; null: the only one */
} poprt_open_options;

/* Opens several files, in any order, that form one model, for example those of
 * poprt_executable_save_parts. `options` may be null. Errors: as poprt_executable_open, and
 * failed_precondition if a package hash differs (the message contains both hashes). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_open_files(
    const char* const* paths, size_t path_count, const poprt_open_options* options,
    poprt_executable** out_executable);

/* Opens a model that the caller has assembled. The model and its reader may be freed afterwards.
 * `executable` of `options` is ignored. Errors: as poprt_executable_open_files. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_open_model(
    const poprt_popef_model* model, const poprt_open_options* options,
    poprt_executable** out_executable);
/* Makes one executable of several: inputs and outputs of the first are called graph0/NAME, of the
 * second graph1/NAME ... The last input, "index" (one u32), selects the one that a run computes.
 * Equal weights are stored once, and working memory is that of the largest. Runners set the index
 * from the names of a request (poprt/runners.h). `executables` may be freed afterwards. Errors:
 * invalid_argument (none, more than 1024, or one that is fused, has several shapes, replicas in the
 * program, a feed, or other batches per step than the first), unimplemented (one is for several
 * IPUs, and another one has load or save programs), resource_exhausted. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_fuse(
    const poprt_executable* const* executables, size_t executable_count,
    poprt_executable** out_executable);
/* Returns the blobs of an executable: metadata, executable, data, opaque blobs. Allocates a copy
 * if the executable came from the compiler. Anchors of types that PopEF does not have (bf16) are
 * not in the metadata, and poprt_executable_save_bytes fails for them. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_popef_model(
    const poprt_executable* executable, poprt_popef_model** out_model);
/* Returns a copy of the metadata with the handles and programs of the anchors. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_popef_metadata(
    const poprt_executable* executable, poprt_popef_metadata** out_metadata);

/* Receives bytes from front to back on the calling thread. Returning non-zero stops: the calling
 * function then fails with cancelled. */
typedef int32_t (*poprt_write_fn)(const void* data, size_t size, void* user_data);

/* Writes the bytes of a PopEF file to a stream; poprt_executable_open_bytes reads them.
 * Allocates a copy if the executable came from the compiler. Errors: cancelled. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_save_bytes(
    const poprt_executable* executable, poprt_write_fn write, void* user_data);

/* The numbers of inputs and of outputs. Indices follow the order of the model. Since 0.1. */
POPRT_API size_t poprt_executable_input_count(const poprt_executable* executable);
POPRT_API size_t poprt_executable_output_count(const poprt_executable* executable);
/* Borrowed from the executable; null if `index` is out of range. Since 0.1. */
POPRT_API const poprt_anchor* poprt_executable_input(const poprt_executable* executable,
                                                     size_t index);
POPRT_API const poprt_anchor* poprt_executable_output(const poprt_executable* executable,
                                                      size_t index);

/* The metadata of the ONNX model: "producer_name", "producer_version", "domain", "model_version",
 * "doc_string", "graph.doc_string", its metadata_props as "prop.KEY", and "graph_name" if there is
 * another entry. Only existing entries are listed, in that order. Borrowed from the executable;
 * null if `index` is out of range. Since 1.0. */
POPRT_API size_t poprt_executable_metadata_count(const poprt_executable* executable);
POPRT_API const char* poprt_executable_metadata_key(const poprt_executable* executable,
                                                    size_t index);
POPRT_API const char* poprt_executable_metadata_value(const poprt_executable* executable,
                                                      size_t index);

/* The name by which PopEF links blobs to the executable; borrowed. Since 0.1. */
POPRT_API const char* poprt_executable_name(const poprt_executable* executable);

/* <functions:executable> made from capi/functions.toml by tests/lint/functions.py --write */
/* Writes a PopEF file. The file is written completely or not at all, and replaces an existing file.
 * Errors: not_found (the folder does not exist); permission_denied (the file cannot be created);
 * resource_exhausted (the disk is full). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_save(const poprt_executable* executable,
                                                            const char* path);
/* Writes the program with its metadata to one PopEF file, and the weights to another. Variable
 * weights are stored by name. Each file is written completely or not at all. Errors:
 * invalid_argument (both paths are one file); not_found (a folder does not exist);
 * permission_denied (a file cannot be created); resource_exhausted (the disk is full).
 * Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_save_parts(
    const poprt_executable* executable, const char* executable_path, const char* variables_path);
/* The size of the constants in bytes. Since 0.1. */
POPRT_API size_t poprt_executable_weights_bytes(const poprt_executable* executable);
/* The size of the device memory that one run needs, in bytes. Since 0.1. */
POPRT_API size_t poprt_executable_arena_bytes(const poprt_executable* executable);
/* The program as text for people. The format may change. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_listing(const poprt_executable* executable,
                                                               poprt_string** out_text);
/* Why a runner refuses a batching dimension. The text is empty if requests with any number of rows
 * along the dimension may share a batch, because no row changes the results of another. The text
 * names the node that mixes rows. It holds for a runner without frozen inputs. Errors:
 * invalid_argument (the first input has no such dimension); failed_precondition (the executable
 * does not state it, because an earlier version compiled the model). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_batching_refusal(
    const poprt_executable* executable, size_t dimension, poprt_string** out_text);
/* What the model costs on a chip, as option `estimate` of the compiler stored it: a JSON object.
 * The keys are those of poprt_estimate_json, without the operations. Errors: not_found (the
 * executable was compiled without the option). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_estimate(const poprt_executable* executable,
                                                                poprt_string** out_json);
/* </functions:executable> */

/* Null is allowed. Runners made from the executable continue to work. Any thread. Since 0.1. */
POPRT_API void poprt_executable_free(poprt_executable* executable);

#ifdef __cplusplus
}
#endif
#endif
