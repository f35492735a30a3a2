// The interface between libpoprt.so and libpoprt_compiler.so, which come from one build. It uses C
// types only. No exception passes through it. The caller owns the messages of errors, and the
// models that functions return, which other functions of the table free.
//
// libpoprt.so loads the compiler when a function first needs it. Running executables does not need
// it, except for faithful numerics, shapes on demand and plug-ins with passes. So a serving process
// usually loads neither ONNX nor protobuf.
#pragma once

#include "poprt/compiler.h"
#include "poprt/passes.h"
#include "poprt/version.h"

#ifdef __cplusplus
extern "C" {
#endif

// The error of a library function. On success, code and message are unchanged. The message is
// allocated with malloc(), and the caller frees it.
typedef struct poprt_library_error {
  poprt_error_code code;
  char* message;
} poprt_library_error;

// Receives bytes from front to back. Returning non-zero stops the library, which then reports
// `cancelled`.
typedef struct poprt_library_sink {
  int (*write)(void* context, const void* data, size_t size);
  void* context;
  // May be null. Otherwise it appends zeros to the result and returns them; it returns null to stop
  // the library. The library may write to them, from several threads, until its function returns,
  // and sends no bytes after them.
  void* (*extend)(void* context, size_t size);
  // May be null. Otherwise compile(), open_model() and compile_open_model() also pass it each
  // warning, even one that they do not write to the log because the user has seen it.
  void (*warn)(void* warn_context, const char* text);
  void* warn_context;
} poprt_library_sink;

struct poprt_plugin_contents;

// An ONNX model: a file, or bytes with the folder of their external data (or null).
typedef struct poprt_library_source {
  const char* path;
  const void* data;
  size_t size;
  const char* folder;
} poprt_library_source;

// Memory of an anchor. `dtype` is a number of the core's DType.
typedef struct poprt_library_tensor {
  const char* name;
  int32_t dtype;
  int32_t rank;
  const int64_t* shape;
  void* data;
  uint64_t bytes;
} poprt_library_tensor;

// The model that an executable stores for runners with faithful numerics, and the program's
// anchors, whose memory is ignored.
typedef struct poprt_library_faithful {
  const void* onnx;
  size_t size;
  int saturate;
  int float_partials;
  int stochastic;  // whether rounding is stochastic
  uint64_t seed;
  const poprt_library_tensor* inputs;
  size_t input_count;
  const poprt_library_tensor* outputs;
  size_t output_count;
} poprt_library_faithful;

typedef struct poprt_compiler_library {
  int32_t version;  // POPRT_VERSION; must be equal in both libraries
  void (*check_options)(const poprt_compile_options* options, poprt_library_error* error);
  // Writes an executable's payload. `kept` is null or the result of convert() with the same
  // options. It is used if its file is the unchanged file of the source.
  void (*compile)(const poprt_compile_options* options, const poprt_library_source* source,
                  void* kept, const poprt_library_sink* sink, poprt_library_error* error);
  void (*compile_to_popef)(const poprt_compile_options* options, const poprt_library_source* source,
                           void* kept, const char* popef_path, poprt_library_error* error);
  // If `out_kept` is not null, it receives a model that a later compilation may use, or stays null
  // if there is none. release() frees it.
  void (*convert)(const poprt_compile_options* options, const poprt_library_source* source,
                  const char* out_onnx_path, void** out_kept, poprt_library_error* error);
  // The functions up to list_ops() write text, except quantizes(). show() and io_stat() first apply
  // the shapes and the batch size of the options, unless an input has several shapes.
  void (*show)(const poprt_compile_options* options, const poprt_library_source* source,
               const poprt_library_sink* sink, poprt_library_error* error);
  void (*io_stat)(const poprt_compile_options* options, const poprt_library_source* source,
                  const poprt_library_sink* sink, poprt_library_error* error);
  // Writes the results that precision_compare compares; see libpoprt_compiler/library.cpp.
  void (*layers)(const poprt_compile_options* options, const poprt_library_source* original,
                 const poprt_library_source* converted, const poprt_library_sink* sink,
                 poprt_library_error* error);
  // Writes the names of results whose sizes check reports, one line each.
  void (*sized)(const poprt_compile_options* options, const poprt_library_source* source,
                const poprt_library_sink* sink, poprt_library_error* error);
  // Returns whether the model has an operator that rounds values to 8 bits or fewer.
  int (*quantizes)(const poprt_compile_options* options, const poprt_library_source* source,
                   poprt_library_error* error);
  void (*list_passes)(const poprt_library_sink* sink, poprt_library_error* error);
  void (*list_ops)(const poprt_library_sink* sink, poprt_library_error* error);
  void (*set_log_level)(const char* level);
  // If null, messages go to stderr.
  void (*set_log_receiver)(void (*receive)(int32_t level, const char* message));
  // Passes the files of a model to a callback, each as one piece: first the model with the location
  // "", then its external data. More than 2 GiB in total is resource_exhausted. Returning non-zero
  // stops, as with a sink.
  void (*embed)(const poprt_library_source* source, const poprt_compile_options* options,
                int (*take)(void* context, const char* location, const void* data, size_t size),
                void* context, poprt_library_error* error);
  // Writes the hash of a model's bytes and external data as 64 digits. Reports the progress of its
  // part of a compilation.
  void (*hash)(const poprt_library_source* source, const poprt_compile_options* options,
               const poprt_library_sink* sink, poprt_library_error* error);
  // Implements poprt_model_apply_passes. The model must be in memory. Without data, only the calls
  // are checked.
  void (*apply_passes)(const poprt_library_source* source, const poprt_pass_call* passes,
                       size_t pass_count, const poprt_apply_options* options,
                       const poprt_library_sink* sink, poprt_library_error* error);
  // These functions write text.
  void (*list_passes_json)(const poprt_library_sink* sink, poprt_library_error* error);
  void (*sort_passes)(const char* const* names, size_t count, const poprt_library_sink* sink,
                      poprt_library_error* error);
  // Writes several ONNX models as one.
  void (*fuse)(const char* const* onnx_paths, size_t count, const char* out_onnx_path,
               poprt_library_error* error);
  // Registers the contents of a user's library (core/plugins), which stay valid until the process
  // ends.
  void (*adopt_plugin)(const struct poprt_plugin_contents* contents, poprt_library_error* error);
  // Opens a model that is computed with the chip's roundings; returns null on failure. Only one
  // thread at a time may run it.
  void* (*faithful_open)(const poprt_library_faithful* model, poprt_library_error* error);
  void (*faithful_run)(const void* model, const poprt_library_tensor* inputs, size_t input_count,
                       const poprt_library_tensor* outputs, size_t output_count,
                       poprt_library_error* error);
  void (*faithful_close)(void* model);
  void (*release)(void* kept);
  // Estimates a model on a chip. Writes a JSON object with `estimate`, the object of docs/chip.md,
  // and the texts `report` and `svg`. Tensors in external files may be missing.
  void (*estimate)(const poprt_compile_options* options, const poprt_library_source* source,
                   const poprt_library_sink* sink, poprt_library_error* error);
  // Writes the content of the opaque blob of option `estimate`.
  void (*estimate_blob)(const poprt_compile_options* options, const poprt_library_source* source,
                        const poprt_library_sink* sink, poprt_library_error* error);
  // Reads a model whose shapes are compiled on demand; returns null on failure. If a size of an
  // input is open, it writes a line with the text of program/open_shapes.h, and then the metadata
  // of the model (onnx_metadata.h). `out_complete` receives whether the options fix every size.
  // Only one thread at a time may use the model. Of the callbacks of the options, only `progress`
  // is called.
  void* (*open_model)(const poprt_compile_options* options, const poprt_library_source* source,
                      const poprt_library_sink* description, int* out_complete,
                      poprt_library_error* error);
  // Compiles the model at the shapes of the options and writes the payload of the executable. The
  // weights of the `first` one are shared with those after it (program/shared_weights.h). If the
  // sink is null, the first executable is not written, but later ones share its weights.
  void (*compile_open_model)(void* model, const poprt_compile_options* options, int first,
                             const poprt_library_sink* sink, poprt_library_error* error);
  void (*close_open_model)(void* model);
  // Passes the tables of kernels of libpoprt.so, a kernels::IsaBuilds, before any other function is
  // called. Returns 0 if the library was built for other tables.
  int (*borrow_kernels)(const void* isa_builds);
  // Reports the error that adopt_plugin would report because of the compiler's own passes, and
  // registers nothing. The message does not name the library.
  void (*check_plugin)(const struct poprt_plugin_contents* contents, poprt_library_error* error);
  // Reports invalid_argument if the file `path` is the model or one of its external data files.
  void (*require_not_read)(const char* path, const char* model, poprt_library_error* error);
} poprt_compiler_library;

// The only symbol of the library. Static storage.
POPRT_API const poprt_compiler_library* poprt_compiler_library_table(void);

#ifdef __cplusplus
}
#endif
