// The only exception type of the library, and the error codes of the C ABI.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace poprt {

// The canonical codes of absl and gRPC, with the same numbers.
enum class ErrorCode : int {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
};

std::string_view error_code_name(ErrorCode code);

// Thrown if a request cannot continue. The message is one line of facts: the expected and the
// actual value, the place, and a remedy. Code that iterates (importer, pass manager, loader) adds a
// context note while the exception passes; what() returns "note: note: message", outermost note
// first.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string message)
      : std::runtime_error(""), code_(code), message_(std::move(message)) {}

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // Puts `note` in front of the message.
  void add_context(std::string_view note) { message_.insert(0, ": ").insert(0, note); }

 private:
  ErrorCode code_;
  std::string message_;
};

// Throws Error with the formatted message.
[[noreturn]] void fail_formatted(ErrorCode code, fmt::string_view format, fmt::format_args args);

// The format is checked at compile time. Formatting and throwing are in a separate function because
// fail() is instantiated in every file.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  fail_formatted(code, format, fmt::make_format_args(args...));
}

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace poprt

// Throws Error(internal) if the condition is false. Use it for errors of the program itself, never
// for invalid input.
#define POPRT_ASSERT(condition) \
  ((condition) ? void(0) : ::poprt::assertion_failed(#condition, __FILE__, __LINE__))
