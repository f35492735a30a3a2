/* Runs passes on an ONNX model in memory and returns the bytes of the result.
 *
 * Example:
 *     char model[1 << 16];
 *     FILE* file = fopen("model.onnx", "rb");
 *     const size_t size = fread(model, 1, sizeof model, file);
 *     fclose(file);
 *
 *     const poprt_option names[] = {{"names", "MatMul_0,MatMul_1"}};
 *     const poprt_pass_call calls[] = {{"merge_matmul", names, 1}, {"eliminate_deadend", NULL, 0}};
 *     poprt_string* made = NULL;
 *     check(poprt_model_apply_passes(model, size, NULL, calls, 2, NULL, &made));
 *
 *     file = fopen("merged.onnx", "wb");
 *     fwrite(poprt_string_data(made), 1, poprt_string_size(made), file);
 *     fclose(file);
 *     poprt_string_free(made);
 */
#ifndef POPRT_PASSES_H
#define POPRT_PASSES_H

#include "poprt/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One pass with the names and values of its arguments. A flag is "True" or "False", a number its
 * digits. Names are separated by commas, and words (KEY=VALUE for a map) by line feeds. Other
 * parameters have their defaults. Since 1.0. */
typedef struct poprt_pass_call {
  const char* name;
  const poprt_option* arguments;
  size_t argument_count;
} poprt_pass_call;

/* Receives the output of an inspecting pass, on the calling thread. Since 1.0. */
typedef void (*poprt_pass_text_fn)(const char* pass, const char* text, void* user_data);

/* Set struct_size to sizeof(poprt_apply_options) and the rest to zero; zero means default. Since
 * 1.0. */
typedef struct poprt_apply_options {
  size_t struct_size;
  int32_t sort;        /* non-zero: order them by their dependencies and add missing ones; otherwise
                        * they run in the given order */
  int32_t no_verify;   /* non-zero: do not verify the graph after each pass */
  int32_t allow_links; /* as in poprt_compile_options */
  int32_t strict;      /* as in poprt_compile_options */
  int64_t rewrite_limit;    /* stop after this number of rewrites; 0: no limit */
  poprt_pass_fn after_pass; /* may be null */
  poprt_pass_text_fn text;  /* null: the standard output */
  void* user_data;          /* for both callbacks */
} poprt_apply_options;

/* Runs passes on an ONNX model one after the other, and returns the bytes of the resulting model
 * (poprt_string_data and poprt_string_size; it is not text). `folder` is the folder of external
 * data; if it is null, external data is an error. `options` may be null. Without a model (null,
 * size 0), the function only checks names and arguments. Errors: not_found (no such pass),
 * invalid_argument (unknown parameter, invalid value, missing parameter, not ONNX),
 * failed_precondition (passes that exclude each other), and errors of the passes. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_model_apply_passes(
    const void* model, size_t size, const char* folder, const poprt_pass_call* passes,
    size_t pass_count, const poprt_apply_options* options, poprt_string** out_model);

/* Returns all passes as a JSON array of objects: name, alias, kind (rewrite, or inspect for a
 * pass without changes), summary, condition, numerics (exact, rounding, precision), stage,
 * parameters (name, kind, default or null, required, summary), depend, before, against. Later
 * versions may add keys. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_list_passes_json(poprt_string** out_text);

/* Returns the names of passes in a valid order, one line each, and adds the passes that must run
 * before them. Errors: not_found, failed_precondition. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_passes_sort(const char* const* names, size_t count,
                                                        poprt_string** out_text);

#ifdef __cplusplus
}
#endif
#endif
