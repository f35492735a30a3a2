// Owners and exceptions for the handles and errors of the C ABI, for commands and programs that
// serve models.
#pragma once

#include <poprt/poprt.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace poprt::serving {

// An error with a code of the C ABI.
class Error : public std::runtime_error {
 public:
  Error(poprt_error_code code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  poprt_error_code code() const { return code_; }

 private:
  poprt_error_code code_;
};

// If there is an error, frees it and throws Error.
inline void check(poprt_error* error) {
  if (!error) return;
  const Error copy(poprt_error_get_code(error), poprt_error_message(error));
  poprt_error_free(error);
  throw copy;
}

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    free_function(handle);
  }
};
using Compiler = std::unique_ptr<poprt_compiler, Free<poprt_compiler_free>>;
using Executable = std::unique_ptr<poprt_executable, Free<poprt_executable_free>>;
using PopefModel = std::unique_ptr<poprt_popef_model, Free<poprt_popef_model_free>>;
using Payload = std::unique_ptr<poprt_popef_payload, Free<poprt_popef_payload_free>>;
using Runner = std::unique_ptr<poprt_runner, Free<poprt_runner_free>>;
using Request = std::unique_ptr<poprt_request, Free<poprt_request_free>>;
using Outputs = std::unique_ptr<poprt_outputs, Free<poprt_outputs_free>>;
using DeviceManager = std::unique_ptr<poprt_device_manager, Free<poprt_device_manager_free>>;
using Generator = std::unique_ptr<poprt_generator, Free<poprt_generator_free>>;
using Sequence = std::unique_ptr<poprt_sequence, Free<poprt_sequence_free>>;
using Device = std::unique_ptr<poprt_device, Free<poprt_device_free>>;

// Returns the text and frees the handle.
inline std::string take(poprt_string* string) {
  std::string text(poprt_string_data(string), poprt_string_size(string));
  poprt_string_free(string);
  return text;
}

}  // namespace poprt::serving
