// Functions shared by the files of the compiler library, and its functions for single passes,
// operators and plug-ins.
#pragma once

#include <cstring>
#include <new>
#include <string>

#include "base/error.h"
#include "compiler/driver.h"
#include "compiler_library.h"
#include "program/serialize.h"

namespace poprt::capi {

inline void report(poprt_library_error* error, ErrorCode code, const char* message) noexcept {
  error->code = static_cast<poprt_error_code>(code);
  error->message = strdup(message);
}

template <class F>
void library_guard(poprt_library_error* error, F&& body) noexcept {
  try {
    body();
  } catch (const Error& e) {
    report(error, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    report(error, ErrorCode::resource_exhausted, "out of memory");
  } catch (const std::exception& e) {
    report(error, ErrorCode::internal, e.what());
  } catch (...) {
    report(error, ErrorCode::internal, "unknown exception");
  }
}

inline void write(const poprt_library_sink& sink, const void* data, size_t size) {
  if (sink.write(sink.context, data, size) != 0)
    fail(ErrorCode::cancelled, "the receiver of the result stopped");
}

inline void write(const poprt_library_sink& sink, const std::string& text) {
  write(sink, text.data(), text.size());
}

// The target of an executable's payload: functions for program::write_executable().
inline program::Sink payload_sink(const poprt_library_sink& sink) {
  return [&sink](std::span<const std::byte> bytes) { write(sink, bytes.data(), bytes.size()); };
}
inline program::Extend payload_memory(const poprt_library_sink& sink) {
  if (!sink.extend) return {};
  return [&sink](uint64_t bytes) {
    auto* memory = static_cast<std::byte*>(sink.extend(sink.context, bytes));
    if (!memory) fail(ErrorCode::cancelled, "the receiver of the result stopped");
    return std::span(memory, bytes);
  };
}

// The caller keeps the ownership of the bytes.
inline compiler::ModelSource model_source(const poprt_library_source& s) {
  compiler::ModelSource source;
  if (s.path) source.path = s.path;
  source.bytes = {static_cast<const std::byte*>(s.data), s.size};
  if (s.folder) source.folder = s.folder;
  return source;
}

// The functions of poprt_compiler_library with these names.
void apply_passes(const poprt_library_source* source, const poprt_pass_call* passes,
                  size_t pass_count, const poprt_apply_options* options,
                  const poprt_library_sink* sink, poprt_library_error* error);
void list_passes(const poprt_library_sink* sink, poprt_library_error* error);
void list_ops(const poprt_library_sink* sink, poprt_library_error* error);
void adopt_plugin(const poprt_plugin_contents* contents, poprt_library_error* error);
void check_plugin(const poprt_plugin_contents* contents, poprt_library_error* error);
void list_passes_json(const poprt_library_sink* sink, poprt_library_error* error);
void sort_passes(const char* const* names, size_t count, const poprt_library_sink* sink,
                 poprt_library_error* error);

}  // namespace poprt::capi
