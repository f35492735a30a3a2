// Errors, log lines and types of Triton's interface.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <utility>

#include "serving/handles.h"
#include "triton_api.h"

namespace poprt::triton {

TRITONSERVER_Error_Code triton_code(poprt_error_code code);
TRITONSERVER_Error* new_error(poprt_error_code code, const std::string& message);

// If there is an error of Triton, frees it and throws serving::Error.
void check(TRITONSERVER_Error* error);

// Logs and frees an error that cannot be returned to the server.
void log_error(TRITONSERVER_Error* error);
void log(TRITONSERVER_LogLevel level, const std::string& message);

TRITONSERVER_DataType triton_type(poprt_dtype dtype);
poprt_dtype dtype_of(TRITONSERVER_DataType type);

uint64_t now_ns();

// The error of a request whose time limit has ended while it waited for `awaited`.
serving::Error too_late(const std::string& awaited);

// Calls a function and returns the error that it throws, if any.
template <class Function>
std::optional<serving::Error> attempt(Function&& function) {
  try {
    std::forward<Function>(function)();
    return std::nullopt;
  } catch (const serving::Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return serving::Error(POPRT_RESOURCE_EXHAUSTED, "there is not enough memory");
  } catch (const std::exception& e) {
    return serving::Error(POPRT_INTERNAL, e.what());
  }
}

// Calls a function and converts an exception to an error of Triton, or returns null.
template <class Function>
TRITONSERVER_Error* guard(Function&& function) {
  const auto error = attempt(std::forward<Function>(function));
  return error ? new_error(error->code(), error->what()) : nullptr;
}

}  // namespace poprt::triton
