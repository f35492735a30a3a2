// The border between libpoprt.so and libpoprt_compiler.so, which come from one build: C types only,
// no exceptions, no ownership across it but error messages.
//
// A serving process never loads the compiler, and so neither ONNX nor protobuf.
#pragma once

#include "poprt/compiler.h"
#include "poprt/passes.h"
#include "poprt/version.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where a plugin function says what went wrong: code and message stay as they are on success. The
// message comes from malloc(); the caller frees it.
typedef struct poprt_plugin_error {
  poprt_error_code code;
  char* message;
} poprt_plugin_error;

// Takes bytes front to back. Non-zero stops the plugin, which then reports `cancelled`.
typedef struct poprt_plugin_sink {
  int (*write)(void* context, const void* data, size_t size);
  void* context;
} poprt_plugin_sink;

struct poprt_plugin_contents;

// An ONNX model: a file, or bytes with the folder of their external data (or null).
typedef struct poprt_plugin_source {
  const char* path;
  const void* data;
  size_t size;
  const char* folder;
} poprt_plugin_source;

// Memory of an anchor; `dtype` is that of the core.
typedef struct poprt_plugin_tensor {
  const char* name;
  int32_t dtype;
  int32_t rank;
  const int64_t* shape;
  void* data;
  uint64_t bytes;
} poprt_plugin_tensor;

// What an executable keeps for runners with faithful numerics, and the program's anchors, whose
// memory is not looked at.
typedef struct poprt_plugin_faithful {
  const void* onnx;
  size_t size;
  int saturate;
  int float_partials;
  const poprt_plugin_tensor* inputs;
  size_t input_count;
  const poprt_plugin_tensor* outputs;
  size_t output_count;
} poprt_plugin_faithful;

typedef struct poprt_compiler_plugin {
  int32_t version;  // POPRT_VERSION; must be equal
  void (*check_options)(const poprt_compile_options* options, poprt_plugin_error* error);
  // Writes an executable's payload. `kept` is null or what convert() has left, with the same
  // options; it is used when its file is that of the source and has not changed.
  void (*compile)(const poprt_compile_options* options, const poprt_plugin_source* source,
                  void* kept, const poprt_plugin_sink* sink, poprt_plugin_error* error);
  void (*compile_to_popef)(const poprt_compile_options* options, const poprt_plugin_source* source,
                           void* kept, const char* popef_path, poprt_plugin_error* error);
  // `out_kept`: null, or where a model goes that a compilation may use; it stays null when there is
  // none. release() frees it.
  void (*convert)(const poprt_compile_options* options, const poprt_plugin_source* source,
                  const char* out_onnx_path, void** out_kept, poprt_plugin_error* error);
  // The following write text.
  void (*show)(const poprt_plugin_source* source, const poprt_plugin_sink* sink,
               poprt_plugin_error* error);
  void (*io_stat)(const poprt_plugin_source* source, const poprt_plugin_sink* sink,
                  poprt_plugin_error* error);
  // What precision_compare compares; see compiler_plugin.cpp.
  void (*layers)(const poprt_compile_options* options, const poprt_plugin_source* original,
                 const poprt_plugin_source* converted, const poprt_plugin_sink* sink,
                 poprt_plugin_error* error);
  // Writes the names of results whose sizes check reports, a line each.
  void (*sized)(const poprt_compile_options* options, const poprt_plugin_source* source,
                const poprt_plugin_sink* sink, poprt_plugin_error* error);
  void (*list_passes)(const poprt_plugin_sink* sink, poprt_plugin_error* error);
  void (*list_ops)(const poprt_plugin_sink* sink, poprt_plugin_error* error);
  void (*set_log_level)(const char* level);
  // Null: stderr.
  void (*set_log_receiver)(void (*receive)(int32_t level, const char* message));
  // Gives the files of a model, each front to back as one piece: itself with the location "", then
  // its external data. Above 2 GiB in all: resource_exhausted. Non-zero stops as with a sink.
  void (*embed)(const poprt_plugin_source* source, int allow_links,
                int (*take)(void* context, const char* location, const void* data, size_t size),
                void* context, poprt_plugin_error* error);
  // Writes the hash of a model's bytes and external data, 64 digits.
  void (*hash)(const poprt_plugin_source* source, int allow_links, const poprt_plugin_sink* sink,
               poprt_plugin_error* error);
  // As poprt_model_apply_passes; a source without path and data is none.
  void (*apply_passes)(const poprt_plugin_source* source, const poprt_pass_call* passes,
                       size_t pass_count, const poprt_apply_options* options,
                       const poprt_plugin_sink* sink, poprt_plugin_error* error);
  // These write text.
  void (*list_passes_json)(const poprt_plugin_sink* sink, poprt_plugin_error* error);
  void (*sort_passes)(const char* const* names, size_t count, const poprt_plugin_sink* sink,
                      poprt_plugin_error* error);
  // Writes several ONNX models as one.
  void (*fuse)(const char* const* onnx_paths, size_t count, const char* out_onnx_path,
               poprt_plugin_error* error);
  // What a user's library has brought along (core/plugins): good for ever.
  void (*adopt_plugin)(const struct poprt_plugin_contents* contents, poprt_plugin_error* error);
  // A model that is computed with the chip's roundings; null on failure. One thread at a time runs
  // it.
  void* (*faithful_open)(const poprt_plugin_faithful* model, poprt_plugin_error* error);
  void (*faithful_run)(const void* model, const poprt_plugin_tensor* inputs, size_t input_count,
                       const poprt_plugin_tensor* outputs, size_t output_count,
                       poprt_plugin_error* error);
  void (*faithful_close)(void* model);
  void (*release)(void* kept);
} poprt_compiler_plugin;

// The plugin's only symbol; static storage.
POPRT_API const poprt_compiler_plugin* poprt_compiler_plugin_table(void);

#ifdef __cplusplus
}
#endif
