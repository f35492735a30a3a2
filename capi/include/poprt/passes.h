/* Passes on an ONNX model in memory: bytes in, bytes out.
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

/* One pass with its arguments, name and value of each. A flag is "True" or "False", a number its
 * digits, names are separated by commas and words (of a map: KEY=VALUE) by line feeds. A parameter
 * that is left out has its default. Since 1.0. */
typedef struct poprt_pass_call {
  const char* name;
  const poprt_option* arguments;
  size_t argument_count;
} poprt_pass_call;

/* What a pass that only looks has to say. On the calling thread. Since 1.0. */
typedef void (*poprt_pass_text_fn)(const char* pass, const char* text, void* user_data);

/* Set struct_size to sizeof(poprt_apply_options) and the rest to zero; zero means default. Since
 * 1.0. */
typedef struct poprt_apply_options {
  size_t struct_size;
  int32_t sort; /* non-zero: ordered by what they must follow or precede, which is added; otherwise
                   they run as given */
  int32_t no_verify;        /* non-zero: do not verify the graph after each pass */
  int32_t allow_links;      /* as in poprt_compile_options */
  int32_t strict;           /* as in poprt_compile_options */
  int64_t rewrite_limit;    /* stop rewriting after so many rewrites; 0: no limit */
  poprt_pass_fn after_pass; /* may be null */
  poprt_pass_text_fn text;  /* null: the standard output */
  void* user_data;          /* for both callbacks */
} poprt_apply_options;

/* Runs passes on an ONNX model, each on what the one before has left, and gives the bytes of the
 * model that comes out (poprt_string_data and poprt_string_size; it is no text). External data is
 * looked for in `folder`; null: it is an error. `options` may be null. Without a model (null, size
 * 0) names and arguments are checked, and nothing else happens.
 * Errors: not_found (no such pass), invalid_argument (no such parameter, a value that it does not
 * take, a parameter that is missing, what is no ONNX), failed_precondition (passes that exclude
 * each other), and what a pass finds wrong. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_model_apply_passes(
    const void* model, size_t size, const char* folder, const poprt_pass_call* passes,
    size_t pass_count, const poprt_apply_options* options, poprt_string** out_model);

/* All passes as a JSON array of objects: name, alias, kind (rewrite, or inspect: it only
 * looks), summary, condition, numerics (exact, rounding, precision), stage, parameters (name, kind,
 * default or null, required, summary), depend, before, against. Keys may be added. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_list_passes_json(poprt_string** out_text);

/* The names of passes in an order in which they may run, a line each: what must run before them is
 * added. Errors: not_found, failed_precondition. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_passes_sort(const char* const* names, size_t count,
                                                        poprt_string** out_text);

#ifdef __cplusplus
}
#endif
#endif
