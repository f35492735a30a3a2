// The message of a refusal of the server.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "serve/inference.h"

namespace poprt::serve {

// Returns the message of invalid_argument, or "taken".
inline std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), POPRT_INVALID_ARGUMENT);
    return e.what();
  }
  return "taken";
}

}  // namespace poprt::serve
