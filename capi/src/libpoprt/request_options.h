// Reads the options of a submission.
#pragma once

#include "guard.h"
#include "runtime/queue/request.h"
#include "struct_size.h"

namespace poprt::capi {

inline runtime::WhenFull read_when_full(const poprt_request_options& o) {
  if (o.reserved)
    fail(ErrorCode::invalid_argument, "poprt_request_options: 'reserved' must be 0, given {}",
         o.reserved);
  switch (o.when_full) {
    case POPRT_WHEN_FULL_WAIT: return runtime::WhenFull::wait;
    case POPRT_WHEN_FULL_FAIL: return runtime::WhenFull::fail;
    case POPRT_WHEN_FULL_LINE: return runtime::WhenFull::line;
    default:
      fail(ErrorCode::invalid_argument,
           "when_full must be 0 (wait), 1 (fail) or 2 (line), given {}", o.when_full);
  }
}

// Checked options of one submission.
struct Submission {
  Submission(const poprt_request_options* given, poprt_request** out_request) {
    const auto o = read_options(given, "poprt_request_options");
    if (!o.callback) required(out_request, "out_request");
    callback.c_call = o.callback;
    callback.context = o.user_data;
    if (o.timeout_ns < 0)
      fail(ErrorCode::invalid_argument, "timeout_ns must not be negative, given {}", o.timeout_ns);
    options.when_full = read_when_full(o);
    if (o.use_replica)
      options.replica = o.replica;
    else if (o.replica)
      fail(ErrorCode::invalid_argument, "poprt_request_options: replica is {} without use_replica",
           o.replica);
    check_reserved(o.reserved_2, "poprt_request_options");
    if (o.at_once != 0 && o.at_once != 1)
      fail(ErrorCode::invalid_argument, "at_once is {}, expected 0 or 1", o.at_once);
    options.at_once = o.at_once != 0;
    if (o.timeout_ns) options.timeout = std::chrono::nanoseconds(o.timeout_ns);
  }
  void return_request(runtime::RequestPtr request, poprt_request** out_request) const {
    if (out_request) *out_request = to_handle(std::move(request));
  }

  runtime::RequestCallback callback;
  runtime::RequestOptions options;
};

}  // namespace poprt::capi
