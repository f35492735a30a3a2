// Errors of the C++ layer, and the functions by which the other headers throw them.
#pragma once

#include <algorithm>
#include <cstddef>
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

// Replaces the library's names of options, which are in backticks, by those of C++: `batching_dim`
// by batchingDim.
inline std::string spelled(const std::string& message) {
  std::string result;
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = message[at] == '`' ? message.find('`', at + 1) : std::string::npos;
    const std::string name =
        end == std::string::npos ? std::string() : message.substr(at + 1, end - at - 1);
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos) {
      result += message[at++];
      continue;
    }
    at = end + 1;
    if (name == "input_shapes") {
      result += "inputShape";
      continue;
    }
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t stop = std::min(name.find('_', begin), name.size());
      std::string word = name.substr(begin, stop - begin);
      if (word == "ns" || word == "io")
        word = word == "ns" ? "NS" : "IO";
      else if (begin > 0 && !word.empty() && word[0] >= 'a')
        word[0] = static_cast<char>(word[0] - 'a' + 'A');
      result += word;
      begin = stop + 1;
    }
  }
  return result;
}

inline void check(poprt_error* error) {
  if (!error) return;
  const std::unique_ptr<poprt_error, decltype(&poprt_error_free)> owner(error, poprt_error_free);
  throw Error(static_cast<ErrorCode>(poprt_error_get_code(error)),
              spelled(poprt_error_message(error)));
}

inline std::string take(poprt_string* text) {
  const std::unique_ptr<poprt_string, decltype(&poprt_string_free)> owner(text, poprt_string_free);
  return {poprt_string_data(text), poprt_string_size(text)};
}

// The text for the C library, which ends it at the first zero character. Throws invalid_argument
// with the name of the argument if it contains one.
inline const char* text(const std::string& value, const char* name) {
  if (value.find('\0') == std::string::npos) return value.c_str();
  throw Error(ErrorCode::invalid_argument,
              std::string("argument '") + name + "' contains the character \\0");
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
