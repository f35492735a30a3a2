/* Compiler: ONNX in; executables, PopEF files or converted ONNX out.
 *
 * The compiler lives in libpoprt_compiler.so.1, which the first call loads from the folder of
 * libpoprt.so.1; without it these functions fail with failed_precondition.
 *
 * Example:
 *     const int64_t shape[] = {8, 1, 8, 8};
 *     const poprt_input_shape inputs[] = {{"image", shape, 4}};
 *     poprt_compile_options options = {0};
 *     options.struct_size = sizeof options;
 *     options.input_shapes = inputs;
 *     options.input_shape_count = 1;
 *     options.precision = POPRT_PRECISION_FP16;
 *
 *     poprt_compiler* compiler = NULL;
 *     check(poprt_compiler_create(&options, &compiler));
 *     check(poprt_compiler_compile_to_popef(compiler, "digits.onnx", "digits.popef"));
 *     poprt_compiler_free(compiler);
 */
#ifndef POPRT_COMPILER_H
#define POPRT_COMPILER_H

#include "poprt/error.h"
#include "poprt/executable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to do with floating-point types. */
typedef int32_t poprt_precision;
enum { POPRT_PRECISION_KEEP = 0, POPRT_PRECISION_FP32 = 1, POPRT_PRECISION_FP16 = 2 };

/* What may compute a 3x3 convolution in f32, besides direct sums: nothing; Winograd's F(2x2), which
 * rounds hardly more; or F(4x4) too, where that is faster. Since 1.0. */
typedef int32_t poprt_winograd;
enum {
  POPRT_WINOGRAD_DEFAULT = 0, /* what keeps each layer within 1e-4 of exact sums */
  POPRT_WINOGRAD_OFF = 1,
  POPRT_WINOGRAD_EXACT = 2,
  POPRT_WINOGRAD_FAST = 3
};

/* Fixes the variable dimensions of one input. An input that is there several times has so many
 * shapes (inputs that are there once have that one in all): the executable computes requests of any
 * size up to the largest, each by the smallest shape that holds it. Weights are stored once.
 * Since 1.0. */
typedef struct poprt_input_shape {
  const char* name;
  const int64_t* shape;
  size_t rank;
} poprt_input_shape;

/* How many elements an input has that is a sequence; of an optional one, 0 or 1. */
typedef struct poprt_input_length {
  const char* name;
  int64_t length;
} poprt_input_length;

/* Bytes that lie in the PopEF file beside the executable. */
typedef struct poprt_opaque_blob {
  const char* name;
  const void* data;
  size_t bytes;
} poprt_opaque_blob;

/* An option of command `poprt` by its name, without dashes: docs/options.md lists them and says
 * what each does. A flag's value is "True" or "False", names are separated by commas, and several
 * words by line feeds. */
typedef struct poprt_option {
  const char* name;
  const char* value;
} poprt_option;

/* `done` runs from 0 to 1, `what` names the step. Called on the compiling thread. */
typedef void (*poprt_progress_fn)(double done, const char* what, void* user_data);

/* Called on the compiling thread after each pass. */
typedef void (*poprt_pass_fn)(const char* pass, int64_t rewrites, double milliseconds,
                              int64_t nodes_before, int64_t nodes_after, void* user_data);

/* Whether to end the compilation: non-zero for yes. Called on the compiling thread between steps,
 * after `progress`. */
typedef int32_t (*poprt_stop_fn)(void* user_data);

/* Set struct_size to sizeof(poprt_compile_options) and the rest to zero; zero means default.
 * Everything is copied before a function returns. */
typedef struct poprt_compile_options {
  size_t struct_size;
  /* <options:compile> made from capi/options.toml by tests/lint/option_fields.py --write */
  /* Fixes the variable dimensions of inputs, by name. None given: as the model says. One that is
   * there several times has so many shapes, see poprt_input_shape. Since 0.1. */
  const poprt_input_shape* input_shapes;
  size_t input_shape_count;
  /* Batch size of every input. 0: as the model says. Since 0.1. */
  int64_t batch_size;
  /* Which dimension the batch size is about. Since 0.1. */
  int64_t batch_axis;
  /* What to do with floating-point types. Default: as the model says. Since 0.1. */
  poprt_precision precision;
  /* Whether not to verify the graph after each pass. Non-zero: yes. Since 0.1. */
  int32_t no_verify;
  /* Passes to run after the default ones, of poprt_compiler_list_passes. Since 0.1. */
  const char* const* passes;
  size_t pass_count;
  /* Passes to leave out, of poprt_compiler_list_passes. Since 0.1. */
  const char* const* skip_passes;
  size_t skip_pass_count;
  /* Constant folding makes nothing larger, in bytes. 0: no limit. Since 0.1. */
  int64_t max_tensor_size;
  /* Stops rewriting after so many rewrites, to find the one that is to blame. 0: no limit. Since
   * 0.1. */
  int64_t rewrite_limit;
  /* Name of the pass after which to stop. Null: none. Since 0.1. */
  const char* stop_after;
  /* Hears how far a compilation is, from 0 to 1, and which step begins, on the compiling thread.
   * Null: nobody. Since 0.1. */
  poprt_progress_fn progress;
  /* Hears of each pass that was run, on the compiling thread. Null: nobody. Since 0.1. */
  poprt_pass_fn after_pass;
  void* user_data;
  /* Outputs to keep, in this order. None given: all. Since 0.1. */
  const char* const* outputs;
  size_t output_count;
  /* Opset of the model that conversion writes, 11 to 28. 0: the model's. Since 0.1. */
  int64_t convert_version;
  /* Engine caching: compile once, later map the file that the cache folder keeps under the hash of
   * model (external data included), options and version. A file that is damaged or belongs to
   * something else is compiled again, with a warning in the log. POPART_CACHE_DIR in the
   * environment turns caching on as well, and is the folder when none is given. Non-zero: yes.
   * Since 0.1. */
  int32_t enable_engine_caching;
  /* Whether external data may be reached through symbolic and hard links, wherever they lead (the
   * layout of some download caches). Only for models that are trusted. Non-zero: yes. Since 0.1. */
  int32_t allow_links;
  /* Folder of engine caching, made when missing. Null: POPART_CACHE_DIR from the environment, or
   * session_cache. Since 0.1. */
  const char* cache_path;
  /* Whether named weights stay tensors of their own, which poprt_session_update_weights replaces
   * and the save programs return; slower, since weights are then not prepared ahead of time.
   * Non-zero: yes. Since 0.1. */
  int32_t variable_weights;
  int32_t reserved_2;
  /* Elements of inputs that are sequences, by name, where no shapes of their elements NAME[0],
   * NAME[1] ... tell; of an optional one 0 or 1. None given: as the model says. Since 1.0. */
  const poprt_input_length* input_lengths;
  size_t input_length_count;
  /* Bytes that lie in the PopEF file beside the executable, by name, for whoever runs it; PopRT's
   * host concat runner looks for "HostConcatRunnerConfig". Since 1.0. */
  const poprt_opaque_blob* opaque_blobs;
  size_t opaque_blob_count;
  /* Whether to refuse a model for what is a warning in the log otherwise: attributes that an
   * operator does not have, a domain without an opset import. Non-zero: yes. Since 1.0. */
  int32_t strict;
  /* What may compute 3x3 convolutions in 32 bits, besides direct sums. Default: what keeps each
   * layer within 1e-4 of exact sums. Since 1.0. */
  poprt_winograd winograd;
  /* Options of command poprt by name, without dashes, those of other fields and more;
   * poprt_compiler_list_options has them all. A flag's value is "True" or "False", names are
   * separated by commas, words by line feeds. One that is not available is unimplemented; what
   * tunes a chip goes into the PopEF file's metadata. Since 1.0. */
  const poprt_option* options;
  size_t option_count;
  /* Whether the PopEF file holds the ONNX model (external data included, 2 GiB at most), so that
   * `poprt_exec recompile` needs nothing else. The file names the model in any case. Non-zero: yes.
   * Since 1.0. */
  int32_t embed_source;
  int32_t reserved_3;
  /* Adds shapes between the several that an input has, until a request computes at most this
   * fraction of padding: 0.2 for a fifth, at most 0.9. Weights are stored once whatever the number
   * of shapes. 0: none is added. Since 1.0. */
  double max_padding;
  /* Asked between steps, on the compiling thread: non-zero ends the compilation with cancelled, and
   * no file is written. Null: never. Since 1.0. */
  poprt_stop_fn stop;
  /* </options:compile> */
} poprt_compile_options;

/* Options, checked and copied. Immutable; several threads may compile with one at the same time
 * (and must then expect their callbacks from several threads). */
typedef struct poprt_compiler poprt_compiler;

/* `options` may be null. Errors: invalid_argument (struct_size, a negative size, an unknown
 * precision, duplicate input name, a reserved field, an option by name), not_found (an unknown
 * pass), unimplemented (an option that is not available). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_create(const poprt_compile_options* options,
                                                            poprt_compiler** out_compiler);

/* Reads an ONNX file, converts and compiles it. Errors: not_found, permission_denied, data_loss
 * (not ONNX, damaged), unimplemented (operator, type or opset; the message names it),
 * invalid_argument (a shape that is not fixed, an ill-formed model). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_compile_file(
    const poprt_compiler* compiler, const char* onnx_path, poprt_executable** out_executable);

/* What a runner takes, by what the file is: opens a PopEF file; compiles an ONNX model, and keeps
 * what that made in an engine cache, from which it comes the next time. `options` may be null; they
 * say nothing about a PopEF file. The cache is cache_path, else POPART_CACHE_DIR, else
 * $XDG_CACHE_HOME/poprt (~/.cache/poprt).
 * Errors: as poprt_executable_open and poprt_compiler_compile_file. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_load(const char* path,
                                                            const poprt_compile_options* options,
                                                            poprt_executable** out_executable);

/* Same from memory. External data is looked for in `folder`; null: external data is an error.
 * Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_compile_bytes(
    const poprt_compiler* compiler, const void* data, size_t size, const char* folder,
    poprt_executable** out_executable);

/* Compiles straight into a PopEF file, which needs less memory than compile and save. The file is
 * written completely or not at all. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_compile_to_popef(
    const poprt_compiler* compiler, const char* onnx_path, const char* popef_path);

/* Only the conversion: writes the converted model as ONNX. With option `check` the original and the
 * converted model run several times with the same inputs before that. data_loss says where they
 * differ by more than the tolerance of the precision, by how much and with which inputs; nothing is
 * written then. Else check.json appears beside the model: the largest differences, the tolerance,
 * sizes that depend on data and how the inputs were made. With `precision_compare`
 * precision_compare.log appears there. (Compiling alone does neither, and warns.) The compiler
 * keeps the model in memory until it compiles something, converts another model or is freed: when
 * the same file is compiled next and has not changed, it is not read again, nor converted where
 * that gives the same. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_convert_file(const poprt_compiler* compiler,
                                                                  const char* onnx_path,
                                                                  const char* out_onnx_path);

/* Writes several ONNX models as one: inputs and outputs of the first are called graph0/NAME, of the
 * second graph1/NAME ..., and a last input "index" (uint32, one element) is read by none of them.
 * Compiled, it is what poprt_executable_fuse makes. Convert the models before, each with options of
 * its own. Models of several opsets become those of the newest. Errors: invalid_argument (none, one
 * that is fused already, two versions of another domain), unimplemented (no conversion between two
 * opsets), and those of reading and writing ONNX. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_fuse_files(const char* const* onnx_paths,
                                                                size_t path_count,
                                                                const char* out_onnx_path);

/* Name, dtype and shape of every graph input and output of an ONNX file, one line each, without
 * conversion. Variable dimensions print as 0. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_show_file(const poprt_compiler* compiler,
                                                               const char* onnx_path,
                                                               poprt_string** out_text);

/* All passes with a line each; all supported operators with their opsets. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_list_passes(poprt_string** out_text);
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_list_ops(poprt_string** out_text);

/* All options by name as JSON: an object with the arrays `options`, `tf2onnx`, `compiler_options`
 * and `popart_options`. Keys may be added. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_list_options(poprt_string** out_text);

/* How many inputs and outputs an ONNX file has of each dtype and shape, one line each. Since 1.0.
 */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_io_stat_file(const poprt_compiler* compiler,
                                                                  const char* onnx_path,
                                                                  poprt_string** out_text);

/* Null is allowed. Any thread. Since 0.1. */
POPRT_API void poprt_compiler_free(poprt_compiler* compiler);

#ifdef __cplusplus
}
#endif
#endif
