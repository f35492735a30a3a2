// The exceptions of the PopEF library. Every class derives from poprt::Error and so from
// std::runtime_error.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace poprt::popef {

class Error : public poprt::Error {
  using poprt::Error::Error;
};

// A file cannot be opened, read or written. The code is the reason: not_found, permission_denied,
// resource_exhausted and so on.
class FileError : public Error {
  using Error::Error;
};

// The bytes violate FORMAT.md: they are truncated, out of bounds or inconsistent.
class FormatError : public Error {
 public:
  explicit FormatError(std::string message, ErrorCode code = ErrorCode::data_loss)
      : Error(code, std::move(message)) {}
};

// The version of the file, or a feature that it requires, is not one that this library reads.
class VersionError : public Error {
 public:
  explicit VersionError(std::string message)
      : Error(ErrorCode::failed_precondition, std::move(message)) {}
};

// A name is empty, a name that must be unique is duplicated, or the target of a reference is
// missing or ambiguous.
class LinkError : public Error {
 public:
  explicit LinkError(std::string message)
      : Error(ErrorCode::failed_precondition, std::move(message)) {}
};

// A writer or blob writer was used after it was closed or replaced by the next one, or after it
// failed.
class InactiveWriterError : public Error {
 public:
  explicit InactiveWriterError(std::string message)
      : Error(ErrorCode::failed_precondition, std::move(message)) {}
};

// The data of the caller does not have the announced size, a value cannot be written, or a part was
// requested that does not exist.
class SizeError : public Error {
 public:
  explicit SizeError(std::string message)
      : Error(ErrorCode::invalid_argument, std::move(message)) {}
};

template <class E, class... Args>
[[noreturn]] void raise(fmt::format_string<Args...> format, Args&&... args) {
  throw E(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace poprt::popef
