#include "base/error.h"

namespace poprt {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::ok: return "ok";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::unknown: return "unknown";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::deadline_exceeded: return "deadline_exceeded";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::already_exists: return "already_exists";
    case ErrorCode::permission_denied: return "permission_denied";
    case ErrorCode::resource_exhausted: return "resource_exhausted";
    case ErrorCode::failed_precondition: return "failed_precondition";
    case ErrorCode::aborted: return "aborted";
    case ErrorCode::out_of_range: return "out_of_range";
    case ErrorCode::unimplemented: return "unimplemented";
    case ErrorCode::internal: return "internal";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::data_loss: return "data_loss";
  }
  return "unknown";
}

void fail_formatted(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(format, args));
}

void assertion_failed(const char* condition, const char* file, int line) {
  fail(ErrorCode::internal, "internal error at {}:{}: {} does not hold; please report it", file,
       line, condition);
}

}  // namespace poprt
