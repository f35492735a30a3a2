// Errors, log lines and types of Triton's interface.
#pragma once

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

// Calls a function at the border of Triton's interface.
template <class Function>
TRITONSERVER_Error* guard(Function&& function) {
  try {
    std::forward<Function>(function)();
    return nullptr;
  } catch (const serving::Error& e) {
    return new_error(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return new_error(POPRT_RESOURCE_EXHAUSTED, "there is not enough memory");
  } catch (const std::exception& e) {
    return new_error(POPRT_INTERNAL, e.what());
  }
}

}  // namespace poprt::triton
