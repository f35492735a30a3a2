/* Models: the blobs of a reader, from any number of files, assembled by their links.
 *
 * If there are several tensor blobs for one anchor, one that is linked to the executable takes
 * precedence over one that is not, and a later one over an earlier one, so that appending replaces
 * data.
 *
 * Example:
 *     static void print_user_inputs(const poprt_popef_reader* reader) {
 *       poprt_popef_model* model = NULL;
 *       size_t count = 0;
 *       check(poprt_popef_model_create(reader, NULL, &model));
 *       const poprt_popef_metadata* metadata = poprt_popef_model_metadata(model);
 *       const size_t* inputs = poprt_popef_model_user_anchors(model, POPRT_POPEF_INPUT, &count);
 *       for (size_t i = 0; i < count; i++) {
 *         poprt_popef_anchor anchor = {0};
 *         anchor.struct_size = sizeof anchor;
 *         check(poprt_popef_metadata_anchor(metadata, inputs[i], &anchor));
 *         puts(anchor.name);
 *       }
 *       poprt_popef_model_free(model);
 *     }
 */
#ifndef POPRT_POPEF_MODEL_H
#define POPRT_POPEF_MODEL_H

#include "poprt/popef_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One executable with all blobs that belong to it. Immutable; any thread. */
typedef struct poprt_popef_model poprt_popef_model;

/* Creates the model of the executable with that name, or of the only one if `executable` is null.
 * The reader may be freed afterwards. Errors: failed_precondition (no such executable, several and
 * no name, no metadata for it or more than one, or, without a name, metadata without an
 * executable), data_loss (data that does not fit its anchor). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_model_create(const poprt_popef_reader* reader,
                                                               const char* executable,
                                                               poprt_popef_model** out_model);
/* Creates the models of all executables in their order, or none after an error. `count` is the
 * size of `out_models` and must be poprt_popef_reader_count(reader, POPRT_POPEF_EXECUTABLE).
 * Free each of them. Errors: as poprt_popef_model_create, and invalid_argument (count).
 * Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_model_create_all(const poprt_popef_reader* reader,
                                                                   poprt_popef_model** out_models,
                                                                   size_t count);
/* Null is allowed. Payloads remain valid. Any thread. Since 0.1. */
POPRT_API void poprt_popef_model_free(poprt_popef_model* model);

/* Borrowed from the model; null for null. Since 0.1. */
POPRT_API const poprt_popef_metadata* poprt_popef_model_metadata(const poprt_popef_model* model);
/* The blobs of the model: one executable, at most one tensor or feed for each anchor name, and
 * opaque blobs. The functions behave like poprt_popef_reader_count and poprt_popef_reader_blob.
 * Since 0.1. */
POPRT_API size_t poprt_popef_model_count(const poprt_popef_model* model,
                                         poprt_popef_blob_type type);
POPRT_API const poprt_popef_blob* poprt_popef_model_blob(const poprt_popef_model* model,
                                                         poprt_popef_blob_type type, size_t index);
/* The indices, in the metadata, of the anchors that the caller must serve: inputs of the main
 * programs without tensor or feed data, or outputs of the main programs. Anchors without a handle
 * are omitted. `out_count` may be null. Borrowed from the model; null and 0 if there are none.
 * Since 0.1. */
POPRT_API const size_t* poprt_popef_model_user_anchors(const poprt_popef_model* model,
                                                       poprt_popef_anchor_type type,
                                                       size_t* out_count);
/* Returns warnings about parts that were ignored when the model (or all models) was created, one
 * line each. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_popef_model_warnings(const poprt_popef_model* model,
                                                                 poprt_string** out_text);

#ifdef __cplusplus
}
#endif
#endif
