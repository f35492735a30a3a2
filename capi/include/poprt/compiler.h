/* Compiler: compiles ONNX models to executables or PopEF files, or converts them to ONNX.
 *
 * The compiler is in libpoprt_compiler.so.1, which the first call loads from the folder of
 * libpoprt.so.1. If that file is missing, functions that need it fail with failed_precondition.
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

/* The conversion of floating-point types. */
typedef int32_t poprt_precision;
enum { POPRT_PRECISION_KEEP = 0, POPRT_PRECISION_FP32 = 1, POPRT_PRECISION_FP16 = 2 };

/* The algorithms that may compute a 3x3 convolution in f32 instead of direct sums: none (OFF),
 * Winograd's F(2x2), which adds little rounding (EXACT), or also F(4x4) where that is faster
 * (FAST). Since 1.0. */
typedef int32_t poprt_winograd;
enum {
  POPRT_WINOGRAD_DEFAULT = 0, /* keeps each layer within 1e-4 of exact sums */
  POPRT_WINOGRAD_OFF = 1,
  POPRT_WINOGRAD_EXACT = 2,
  POPRT_WINOGRAD_FAST = 3
};

/* Sets the variable dimensions of one input. An input that is listed several times has several
 * shapes; an input that is listed once has the same shape in all of them. The executable
 * computes requests of any size up to the largest, each with the smallest shape that fits.
 * Weights are stored once. Since 1.0. */
typedef struct poprt_input_shape {
  const char* name;
  const int64_t* shape;
  size_t rank;
} poprt_input_shape;

/* The number of elements of an input that is a sequence; 0 or 1 for an optional. */
typedef struct poprt_input_length {
  const char* name;
  int64_t length;
} poprt_input_length;

/* Bytes that are stored in the PopEF file in addition to the executable. */
typedef struct poprt_opaque_blob {
  const char* name;
  const void* data;
  size_t bytes;
} poprt_opaque_blob;

/* An option of command `poprt` by its name, without dashes. docs/options.md lists the options
 * and their effects. The value of a flag is "True" or "False". Names are separated by commas,
 * and several words by line feeds. */
typedef struct poprt_option {
  const char* name;
  const char* value;
} poprt_option;

/* `done` increases from 0 to 1, and `what` is the name of the step. Called on the compiling
 * thread. */
typedef void (*poprt_progress_fn)(double done, const char* what, void* user_data);

/* Called on the compiling thread after each pass. */
typedef void (*poprt_pass_fn)(const char* pass, int64_t rewrites, double milliseconds,
                              int64_t nodes_before, int64_t nodes_after, void* user_data);

/* Returns non-zero to end the compilation. Called on the compiling thread between steps, after
 * `progress`. */
typedef int32_t (*poprt_stop_fn)(void* user_data);

/* Set struct_size to sizeof(poprt_compile_options) and the rest to zero; zero means default.
 * Functions copy all options before they return. */
typedef struct poprt_compile_options {
  size_t struct_size;
  /* <options:compile> made from capi/option_fields.toml by tests/lint/option_fields.py --write */
  /* Shapes that fix the variable dimensions of inputs, by name. None given: the model's shapes. An
   * input that is in the list several times has several shapes, see poprt_input_shape. Since
   * 0.1. */
  const poprt_input_shape* input_shapes;
  size_t input_shape_count;
  /* Batch size of every input. 0: the model's. Since 0.1. */
  int64_t batch_size;
  /* The dimension that has the batch size. Since 0.1. */
  int64_t batch_axis;
  /* The precision of floating-point tensors. Default: the model's types. Since 0.1. */
  poprt_precision precision;
  /* Whether to omit the verification of the graph after each pass. Non-zero: yes. Since 0.1. */
  int32_t no_verify;
  /* Passes to run after the default ones, of poprt_compiler_list_passes. Since 0.1. */
  const char* const* passes;
  size_t pass_count;
  /* Passes to leave out, of poprt_compiler_list_passes. They also do not run in the compilation and
   * if they are given as passes to run. Since 0.1. */
  const char* const* skip_passes;
  size_t skip_pass_count;
  /* The largest constant that constant folding makes, in bytes. All constants together have a limit
   * in any case. 0: only that limit. Since 0.1. */
  int64_t max_tensor_size;
  /* The passes stop after this number of rewrites. A bisection of the limit finds the rewrite that
   * makes a result wrong. 0: no limit. Since 0.1. */
  int64_t rewrite_limit;
  /* Name of the last pass of the conversion to run. The passes that a compilation needs run in any
   * case, up to this one in the stage that has it. Null: all passes run. Since 0.1. */
  const char* stop_after;
  /* A function that is called on the compiling thread when a step begins, with the progress from 0
   * to 1 and the name of the step. Null: none. Since 0.1. */
  poprt_progress_fn progress;
  /* A function that is called on the compiling thread after each pass. Null: none. Since 0.1. */
  poprt_pass_fn after_pass;
  void* user_data;
  /* Outputs to keep, in this order. None given: all. Since 0.1. */
  const char* const* outputs;
  size_t output_count;
  /* Opset of the converted model, 11 to 28. 0: the model's. Since 0.1. */
  int64_t convert_version;
  /* Whether to use the engine cache. A model is compiled once; later compilations map the file that
   * the cache folder has under the hash of the model (including external data), the options and the
   * version. If the file is damaged or has another content, the model is compiled again, with a
   * warning in the log. A file of a user other than root and that of the process is not used, nor a
   * folder to which every user can write, unless it is sticky: the model is compiled without the
   * cache, with a warning. POPXL_CACHE_DIR or POPART_CACHE_DIR in the environment turns the cache
   * on, too, and is the folder if none is given. Non-zero: yes. Since 0.1. */
  int32_t enable_engine_caching;
  /* Whether external data may be reached through symbolic and hard links, even if they lead out of
   * the model's folder, as in some download caches. Use this only for trusted models. Non-zero:
   * yes. Since 0.1. */
  int32_t allow_links;
  /* Folder of the engine cache, which is created if it does not exist. Null: POPXL_CACHE_DIR or
   * POPART_CACHE_DIR from the environment, or session_cache. Since 0.1. */
  const char* cache_path;
  /* Whether named weights stay separate tensors, which poprt_session_update_weights replaces and
   * the save programs return. Runs are slower, because such weights are not packed ahead of time.
   * Non-zero: yes. Since 0.1. */
  int32_t variable_weights;
  int32_t reserved_2;
  /* Number of elements of inputs that are sequences, by name; of an optional input 0 or 1. A
   * sequence whose elements NAME[0], NAME[1] ... have shapes in the options does not need it. None
   * given: the model's. Since 1.0. */
  const poprt_input_length* input_lengths;
  size_t input_length_count;
  /* Bytes that are stored in the PopEF file next to the executable, by name, for the program that
   * runs it. PopRT's host concat runner reads "HostConcatRunnerConfig". Since 1.0. */
  const poprt_opaque_blob* opaque_blobs;
  size_t opaque_blob_count;
  /* Whether to refuse a model that otherwise causes a warning in the log: an attribute that the
   * operator does not have, or a domain without an opset import. Non-zero: yes. Since 1.0. */
  int32_t strict;
  /* The Winograd algorithm that may compute 3x3 convolutions in 32 bits instead of direct sums.
   * Default: the one that keeps each layer within 1e-4 of exact sums. Since 1.0. */
  poprt_winograd winograd;
  /* Options of the command poprt by name, without dashes; poprt_compiler_list_options returns all
   * of them, including those of the other fields. The value of a flag is "True" or "False"; commas
   * separate names, line feeds separate words. An option that is not available fails with
   * unimplemented. Options that tune a chip are stored in the metadata of the PopEF file. Since
   * 1.0. */
  const poprt_option* options;
  size_t option_count;
  /* Whether the PopEF file contains the ONNX model (including external data, at most 2 GiB), so
   * that `poprt_exec recompile` needs no other file. Without it, the file contains only the path of
   * the model. Non-zero: yes. Since 1.0. */
  int32_t embed_source;
  int32_t reserved_3;
  /* The largest fraction of a request's computation that may be padding, for example 0.2 and at
   * most 0.9. If an input has several shapes, shapes between them are added until this holds.
   * Weights are stored once for any number of shapes. 0: no shape is added. Since 1.0. */
  double max_padding;
  /* A function that is called between steps, on the compiling thread. If it returns non-zero, the
   * compilation fails with cancelled and writes no file. Null: none. Since 1.0. */
  poprt_stop_fn stop;
  /* How the ONNX model and its external data are read: "map" uses weights in memory maps of the
   * files; "copy" copies them into memory. If a mapped file is truncated, the process receives
   * SIGBUS; with "copy" this is an error. Null: "map". Since 1.0. */
  const char* load;
  /* How a model with variable dimensions gets its shapes: "on_demand" compiles each shape when its
   * first request arrives, and input_shape or batch_size is the shape that is compiled ahead;
   * "buckets" compiles the shapes of input_shape and pads requests to them; "fixed" compiles one
   * shape. "on_demand" needs a function that loads a model to run it: an ONNX file, or a PopEF file
   * that was compiled with embed_source, which also has the other options. Null: "buckets" if an
   * input has several shapes; else "on_demand" for an ONNX model that is loaded to run it; else
   * "fixed". poprt_executable_load is such a function. Since 1.0. */
  const char* shapes;
  /* </options:compile> */
} poprt_compile_options;

/* Checked and copied options. Immutable: several threads may compile with one compiler at the
 * same time, and callbacks are then called from several threads. */
typedef struct poprt_compiler poprt_compiler;

/* `options` may be null. Errors: invalid_argument (struct_size, a negative size, an unknown
 * precision, duplicate input name, a reserved field, an option by name), not_found (an unknown
 * pass), unimplemented (an option that is not available), failed_precondition (there is no compiler
 * library), and those of poprt_plugin_load for custom_library_so_paths. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_create(const poprt_compile_options* options,
                                                            poprt_compiler** out_compiler);

/* Reads an ONNX file, converts and compiles it. Errors: not_found, permission_denied, data_loss
 * (damaged), unimplemented (operator, type or opset; the message names it), invalid_argument (not
 * ONNX, a shape that is not fixed, an ill-formed model), cancelled (the caller stopped the
 * compilation), resource_exhausted (embed_source beyond 2 GiB). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_compile_file(
    const poprt_compiler* compiler, const char* onnx_path, poprt_executable** out_executable);

/* Loads an executable from either kind of file to run it. Opens a PopEF file, or compiles an ONNX
 * model and stores the result in an engine cache, from which later calls take it. If the model has
 * variable dimensions, its shapes are compiled when a runner gets requests (option `shapes`): then
 * dimensions of anchors are -1 unless the options fix them, and an executable without such a shape
 * cannot be saved, fused or used by a session (failed_precondition). `options` may be null. On a
 * PopEF file, only custom_library_so_paths acts, and a warning in the log names the other options
 * that only a compilation uses. If `shapes` is on_demand, the source in the file (embed_source) is
 * compiled at other shapes with the options that the file records. Of the given options,
 * cache_path, load, custom_library_so_paths and the callbacks progress and stop then act, and the
 * others that only a compilation uses are refused (invalid_argument). The cache is cache_path, else
 * POPXL_CACHE_DIR or POPART_CACHE_DIR, else $XDG_CACHE_HOME/poprt (~/.cache/poprt). Errors: as
 * poprt_executable_open, poprt_compiler_create and poprt_compiler_compile_file; failed_precondition
 * if a PopEF file without a source, of several shapes, or calibrated with a file of data should be
 * compiled. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_executable_load(const char* path,
                                                            const poprt_compile_options* options,
                                                            poprt_executable** out_executable);

/* Compiles a model in memory. `folder` is the folder of external data; if it is null, external data
 * is an error. Errors: as poprt_compiler_compile_file. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_compile_bytes(
    const poprt_compiler* compiler, const void* data, size_t size, const char* folder,
    poprt_executable** out_executable);

/* <functions:compiler> made from capi/functions.toml by tests/lint/functions.py --write */
/* Compiles a model straight into a PopEF file, which needs less memory than compiling and saving.
 * The file is written completely or not at all. Errors: not_found (there is no such model, or no
 * folder for the PopEF file); permission_denied (a file cannot be opened or created); data_loss
 * (the file is damaged); unimplemented (an operator, type or opset is not supported);
 * invalid_argument (the file is not ONNX, the model is ill-formed, or a shape is not fixed; or both
 * paths are one file); resource_exhausted (the disk is full); cancelled (the caller stopped the
 * compilation). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_compile_to_popef(
    const poprt_compiler* compiler, const char* onnx_path, const char* popef_path);
/* Converts a model and writes the result as ONNX. With option `check` the original and the
 * converted model first run several times with the same inputs. If they differ by more than the
 * tolerance of the precision, the call fails with data_loss; the message contains the place, the
 * difference and the inputs, and nothing is written. Otherwise check.json is written next to the
 * model. It contains the largest differences, the tolerance, the sizes that depend on data, and how
 * the inputs were made. With option `precision_compare` precision_compare.log is written there.
 * (Compiling without converting does neither, and warns.) The compiler keeps the model in memory
 * until it compiles a model, converts another one or is freed. If the same file is compiled next
 * and has not changed, it is not read again, and is converted again only if the result would
 * differ. Errors: not_found (there is no such model, or no folder for the result);
 * permission_denied (a file cannot be opened or created); data_loss (the file is damaged; or a
 * check failed); unimplemented (an operator, type or opset is not supported); invalid_argument (the
 * file is not ONNX, or the model is ill-formed; or both paths are one file); resource_exhausted
 * (the disk is full); cancelled (the caller stopped the conversion). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_convert_file(const poprt_compiler* compiler,
                                                                  const char* onnx_path,
                                                                  const char* out_onnx_path);
/* Name, type and shape of every input and output of an ONNX file, one line each, without
 * conversion. A variable dimension has its name, or ? if it has none. Shapes and the batch size of
 * the options are applied. Errors: not_found (there is no such model); data_loss (the file is
 * damaged); invalid_argument (the file is not ONNX, or the model is ill-formed). Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_show_file(const poprt_compiler* compiler,
                                                               const char* onnx_path,
                                                               poprt_string** out_text);
/* How many inputs and outputs an ONNX file has of each type and shape, one line each. A variable
 * dimension has its name, or ? if it has none. Shapes and the batch size of the options are
 * applied. Errors: not_found (there is no such model); data_loss (the file is damaged);
 * invalid_argument (the file is not ONNX, or the model is ill-formed). Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_io_stat_file(const poprt_compiler* compiler,
                                                                  const char* onnx_path,
                                                                  poprt_string** out_text);
/* </functions:compiler> */

/* Writes several ONNX models as one: inputs and outputs of the first are called graph0/NAME, of the
 * second graph1/NAME ... The last input, "index" (uint32, one element), selects the model that a
 * compiled executable runs; no model reads it. Compiling the result is equivalent to
 * poprt_executable_fuse. Convert the models first, each with its own options. If models have
 * several opsets, the newest is used. Errors: invalid_argument (no models, a model that is fused
 * already, two versions of another domain), unimplemented (no conversion between two opsets), and
 * those of reading and writing ONNX. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_fuse_files(const char* const* onnx_paths,
                                                                size_t path_count,
                                                                const char* out_onnx_path);

/* Return all passes, or all supported operators with their opsets, one line each. Since 0.1. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_list_passes(poprt_string** out_text);
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_list_ops(poprt_string** out_text);

/* Returns all options by name as JSON: an object with the arrays `options`, `tf2onnx`,
 * `compiler_options` and `popart_options`. Later versions may add keys. Since 1.0. */
POPRT_API POPRT_MUST_USE poprt_error* poprt_compiler_list_options(poprt_string** out_text);

/* Null is allowed. Any thread. Since 0.1. */
POPRT_API void poprt_compiler_free(poprt_compiler* compiler);

#ifdef __cplusplus
}
#endif
#endif
