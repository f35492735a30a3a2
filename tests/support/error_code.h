// What a call fails with.
#pragma once

#include "base/error.h"

namespace poprt::test {

// ErrorCode::ok when it throws nothing; other exceptions pass.
template <class F>
ErrorCode code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

}  // namespace poprt::test
