#include "support.h"

#include <array>
#include <chrono>

namespace poprt::triton {
namespace {

constexpr std::array<std::pair<poprt_dtype, TRITONSERVER_DataType>, 13> kTypes = {{
    {POPRT_DTYPE_BOOL, TRITONSERVER_TYPE_BOOL},
    {POPRT_DTYPE_U8, TRITONSERVER_TYPE_UINT8},
    {POPRT_DTYPE_U16, TRITONSERVER_TYPE_UINT16},
    {POPRT_DTYPE_U32, TRITONSERVER_TYPE_UINT32},
    {POPRT_DTYPE_U64, TRITONSERVER_TYPE_UINT64},
    {POPRT_DTYPE_S8, TRITONSERVER_TYPE_INT8},
    {POPRT_DTYPE_S16, TRITONSERVER_TYPE_INT16},
    {POPRT_DTYPE_S32, TRITONSERVER_TYPE_INT32},
    {POPRT_DTYPE_S64, TRITONSERVER_TYPE_INT64},
    {POPRT_DTYPE_F16, TRITONSERVER_TYPE_FP16},
    {POPRT_DTYPE_F32, TRITONSERVER_TYPE_FP32},
    {POPRT_DTYPE_F64, TRITONSERVER_TYPE_FP64},
    {POPRT_DTYPE_BF16, TRITONSERVER_TYPE_BF16},
}};

}  // namespace

TRITONSERVER_Error_Code triton_code(poprt_error_code code) {
  switch (code) {
    case POPRT_CANCELLED: return TRITONSERVER_ERROR_CANCELLED;
    case POPRT_INVALID_ARGUMENT:
    case POPRT_OUT_OF_RANGE: return TRITONSERVER_ERROR_INVALID_ARG;
    case POPRT_NOT_FOUND: return TRITONSERVER_ERROR_NOT_FOUND;
    case POPRT_ALREADY_EXISTS: return TRITONSERVER_ERROR_ALREADY_EXISTS;
    case POPRT_DEADLINE_EXCEEDED:
    case POPRT_RESOURCE_EXHAUSTED:
    case POPRT_ABORTED:
    case POPRT_UNAVAILABLE: return TRITONSERVER_ERROR_UNAVAILABLE;
    case POPRT_FAILED_PRECONDITION:
    case POPRT_UNIMPLEMENTED: return TRITONSERVER_ERROR_UNSUPPORTED;
    case POPRT_PERMISSION_DENIED:
    case POPRT_DATA_LOSS:
    case POPRT_INTERNAL: return TRITONSERVER_ERROR_INTERNAL;
    default: return TRITONSERVER_ERROR_UNKNOWN;
  }
}

TRITONSERVER_Error* new_error(poprt_error_code code, const std::string& message) {
  return TRITONSERVER_ErrorNew(triton_code(code), message.c_str());
}

void check(TRITONSERVER_Error* error) {
  if (!error) return;
  poprt_error_code code = POPRT_INTERNAL;
  switch (TRITONSERVER_ErrorCode(error)) {
    case TRITONSERVER_ERROR_NOT_FOUND: code = POPRT_NOT_FOUND; break;
    case TRITONSERVER_ERROR_INVALID_ARG: code = POPRT_INVALID_ARGUMENT; break;
    case TRITONSERVER_ERROR_UNAVAILABLE: code = POPRT_UNAVAILABLE; break;
    case TRITONSERVER_ERROR_UNSUPPORTED: code = POPRT_UNIMPLEMENTED; break;
    case TRITONSERVER_ERROR_CANCELLED: code = POPRT_CANCELLED; break;
    default: break;
  }
  const serving::Error copy(code, TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
  throw copy;
}

void log_error(TRITONSERVER_Error* error) {
  if (!error) return;
  log(TRITONSERVER_LOG_WARN, TRITONSERVER_ErrorMessage(error));
  TRITONSERVER_ErrorDelete(error);
}

void log(TRITONSERVER_LogLevel level, const std::string& message) {
  TRITONSERVER_Error* failed =
      TRITONSERVER_LogMessage(level, "poprt", 0, ("poprt: " + message).c_str());
  if (failed) TRITONSERVER_ErrorDelete(failed);
}

TRITONSERVER_DataType triton_type(poprt_dtype dtype) {
  for (const auto& [type, triton] : kTypes)
    if (type == dtype) return triton;
  return TRITONSERVER_TYPE_INVALID;
}

poprt_dtype dtype_of(TRITONSERVER_DataType type) {
  for (const auto& [dtype, triton] : kTypes)
    if (triton == type) return dtype;
  return POPRT_DTYPE_UNDEFINED;
}

serving::Error too_late(const std::string& awaited) {
  return {POPRT_DEADLINE_EXCEEDED, "the request waited longer than its timeout for " + awaited};
}

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace poprt::triton
