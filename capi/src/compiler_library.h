// The interface between libpoprt.so and the compiler library, libpoprt_compiler.so. Both come from
// one build. The interface has C types only; no exception crosses it, and the only memory that
// changes its owner is that of error messages.
//
// A process that only serves models never loads the compiler library, and so neither ONNX nor
// protobuf.
#pragma once

#include "poprt/compiler.h"
#include "poprt/passes.h"
#include "poprt/version.h"

#ifdef __cplusplus
extern "C" {
#endif

// The error of a function of the compiler library. On success, code and message keep their values.
// The message comes from malloc(); the caller frees it.
typedef struct poprt_library_error {
  poprt_error_code code;
  char* message;
} poprt_library_error;

// Takes bytes front to back. A non-zero result stops the function, which then reports `cancelled`.
typedef struct poprt_library_sink {
  int (*write)(void* context, const void* data, size_t size);
  void* context;
} poprt_library_sink;

struct poprt_plugin_contents;

// An ONNX model: a file, or bytes with the folder of their external data (or null).
typedef struct poprt_library_source {
  const char* path;
  const void* data;
  size_t size;
  const char* folder;
} poprt_library_source;

// Memory of an anchor; `dtype` is that of the core.
typedef struct poprt_library_tensor {
  const char* name;
  int32_t dtype;
  int32_t rank;
  const int64_t* shape;
  void* data;
  uint64_t bytes;
} poprt_library_tensor;

// What an executable keeps for runners with faithful numerics, and the program's anchors, whose
// memory is not looked at.
typedef struct poprt_library_faithful {
  const void* onnx;
  size_t size;
  int saturate;
  int float_partials;
  const poprt_library_tensor* inputs;
  size_t input_count;
  const poprt_library_tensor* outputs;
  size_t output_count;
} poprt_library_faithful;

typedef struct poprt_compiler_library {
  int32_t version;  // POPRT_VERSION; must be equal
  void (*check_options)(const poprt_compile_options* options, poprt_library_error* error);
  // Writes an executable's payload. `kept` is null or what convert() has left, with the same
  // options; it is used when its file is that of the source and has not changed.
  void (*compile)(const poprt_compile_options* options, const poprt_library_source* source,
                  void* kept, const poprt_library_sink* sink, poprt_library_error* error);
  void (*compile_to_popef)(const poprt_compile_options* options, const poprt_library_source* source,
                           void* kept, const char* popef_path, poprt_library_error* error);
  // `out_kept`: null, or where a model goes that a compilation may use; it stays null when there is
  // none. release() frees it.
  void (*convert)(const poprt_compile_options* options, const poprt_library_source* source,
                  const char* out_onnx_path, void** out_kept, poprt_library_error* error);
  // The following write text.
  void (*show)(const poprt_library_source* source, const poprt_library_sink* sink,
               poprt_library_error* error);
  void (*io_stat)(const poprt_library_source* source, const poprt_library_sink* sink,
                  poprt_library_error* error);
  // What precision_compare compares; see compiler_library.cpp.
  void (*layers)(const poprt_compile_options* options, const poprt_library_source* original,
                 const poprt_library_source* converted, const poprt_library_sink* sink,
                 poprt_library_error* error);
  // Writes the names of results whose sizes check reports, a line each.
  void (*sized)(const poprt_compile_options* options, const poprt_library_source* source,
                const poprt_library_sink* sink, poprt_library_error* error);
  void (*list_passes)(const poprt_library_sink* sink, poprt_library_error* error);
  void (*list_ops)(const poprt_library_sink* sink, poprt_library_error* error);
  void (*set_log_level)(const char* level);
  // Null: stderr.
  void (*set_log_receiver)(void (*receive)(int32_t level, const char* message));
  // Gives the files of a model, each front to back as one piece: itself with the location "", then
  // its external data. Above 2 GiB in all: resource_exhausted. Non-zero stops as with a sink.
  void (*embed)(const poprt_library_source* source, int allow_links,
                int (*take)(void* context, const char* location, const void* data, size_t size),
                void* context, poprt_library_error* error);
  // Writes the hash of a model's bytes and external data, 64 digits.
  void (*hash)(const poprt_library_source* source, int allow_links, const poprt_library_sink* sink,
               poprt_library_error* error);
  // As poprt_model_apply_passes; a source without path and data is none.
  void (*apply_passes)(const poprt_library_source* source, const poprt_pass_call* passes,
                       size_t pass_count, const poprt_apply_options* options,
                       const poprt_library_sink* sink, poprt_library_error* error);
  // These write text.
  void (*list_passes_json)(const poprt_library_sink* sink, poprt_library_error* error);
  void (*sort_passes)(const char* const* names, size_t count, const poprt_library_sink* sink,
                      poprt_library_error* error);
  // Writes several ONNX models as one.
  void (*fuse)(const char* const* onnx_paths, size_t count, const char* out_onnx_path,
               poprt_library_error* error);
  // Registers the operators and passes of a user's library (core/plugins), for the life of the
  // process.
  void (*adopt_plugin)(const struct poprt_plugin_contents* contents, poprt_library_error* error);
  // A model that is computed with the chip's roundings; null on failure. One thread at a time runs
  // it.
  void* (*faithful_open)(const poprt_library_faithful* model, poprt_library_error* error);
  void (*faithful_run)(const void* model, const poprt_library_tensor* inputs, size_t input_count,
                       const poprt_library_tensor* outputs, size_t output_count,
                       poprt_library_error* error);
  void (*faithful_close)(void* model);
  void (*release)(void* kept);
} poprt_compiler_library;

// The only symbol that the library exports. The table has static storage.
POPRT_API const poprt_compiler_library* poprt_compiler_library_table(void);

#ifdef __cplusplus
}
#endif
