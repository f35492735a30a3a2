// The interface between the commands and libpoprt_tokenizer.so, which reads models of
// sentencepiece. It has C types only, and no exception crosses it.
//
// The library is separate because Debian's sentencepiece contains and exports an older protobuf
// than the one that gRPC and the compiler use. The commands load it so that it is bound to its own
// dependencies first.
#pragma once

#include <cstddef>
#include <cstdint>

// Increase with every change of this file.
#define POPRT_TOKENIZER_VERSION 1

extern "C" {

struct poprt_tokenizer_model;

// Functions pass their results to `add`, in one or several parts. `add` does not throw.
typedef void (*poprt_tokenizer_add_tokens)(void* context, const int32_t* tokens, size_t count);
typedef void (*poprt_tokenizer_add_text)(void* context, const char* text, size_t size);

struct poprt_tokenizer_library {
  int32_t version;  // POPRT_TOKENIZER_VERSION; must be equal
  // Reads a model. Returns null if it is damaged; then `error` has one line without a final period.
  poprt_tokenizer_model* (*open)(const char* data, size_t size, char* error, size_t error_size);
  void (*close)(poprt_tokenizer_model* model);
  // The other functions are thread-safe. Those with `error` return 0 on success, else set `error`.
  int32_t (*size)(const poprt_tokenizer_model* model);   // the number of tokens
  int32_t (*begin)(const poprt_tokenizer_model* model);  // the token before a text, or -1
  int32_t (*end)(const poprt_tokenizer_model* model);    // the token after a text, or -1
  int (*encode)(const poprt_tokenizer_model* model, const char* text, size_t size,
                poprt_tokenizer_add_tokens add, void* context, char* error, size_t error_size);
  // All tokens are from 0 to size(), exclusive.
  int (*decode)(const poprt_tokenizer_model* model, const int32_t* tokens, size_t count,
                poprt_tokenizer_add_text add, void* context, char* error, size_t error_size);
  // The name of a token in the model, such as "the" after U+2581, which means a space. The token is
  // in range.
  int (*piece)(const poprt_tokenizer_model* model, int32_t token, poprt_tokenizer_add_text add,
               void* context, char* error, size_t error_size);
};

// The only symbol that the library exports. The table has static storage.
__attribute__((visibility("default"))) const poprt_tokenizer_library* poprt_tokenizer_library_table(
    void);
}
