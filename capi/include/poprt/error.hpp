// Errors of the C++ layer, and the functions by which the other headers throw them.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "poprt/api.h"
#include "poprt/error.h"

namespace poprt {
inline namespace v1 {

enum class ErrorCode : int32_t {
  ok = POPRT_OK,
  cancelled = POPRT_CANCELLED,
  unknown = POPRT_UNKNOWN,
  invalid_argument = POPRT_INVALID_ARGUMENT,
  deadline_exceeded = POPRT_DEADLINE_EXCEEDED,
  not_found = POPRT_NOT_FOUND,
  already_exists = POPRT_ALREADY_EXISTS,
  permission_denied = POPRT_PERMISSION_DENIED,
  resource_exhausted = POPRT_RESOURCE_EXHAUSTED,
  failed_precondition = POPRT_FAILED_PRECONDITION,
  aborted = POPRT_ABORTED,
  out_of_range = POPRT_OUT_OF_RANGE,
  unimplemented = POPRT_UNIMPLEMENTED,
  internal = POPRT_INTERNAL,
  unavailable = POPRT_UNAVAILABLE,
  data_loss = POPRT_DATA_LOSS,
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

namespace detail {

inline void check(poprt_error* error) {
  if (!error) return;
  const std::unique_ptr<poprt_error, decltype(&poprt_error_free)> owner(error, poprt_error_free);
  throw Error(static_cast<ErrorCode>(poprt_error_get_code(error)), poprt_error_message(error));
}

inline std::string take(poprt_string* text) {
  const std::unique_ptr<poprt_string, decltype(&poprt_string_free)> owner(text, poprt_string_free);
  return {poprt_string_data(text), poprt_string_size(text)};
}

// Checks an argument that must not be null.
template <class T>
const T& given(const std::shared_ptr<T>& pointer, const char* name) {
  if (pointer) return *pointer;
  throw Error(ErrorCode::invalid_argument, std::string("argument '") + name + "' is null");
}

}  // namespace detail

}  // namespace v1
}  // namespace poprt

// Model Runtime and PopEF have namespaces at top level, in which programs may declare their
// classes. PopRT's names for them are aliases.
namespace model_runtime {
namespace detail = ::poprt::detail;
using ::poprt::Error;
using ::poprt::ErrorCode;
}  // namespace model_runtime
namespace popef {
namespace detail = ::poprt::detail;
using ::poprt::ErrorCode;
}  // namespace popef
namespace poprt {
inline namespace v1 {
namespace runtime = ::model_runtime;
namespace popef = ::popef;
}  // namespace v1
}  // namespace poprt
