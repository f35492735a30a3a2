// Returns the error of a call.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/error.h"

namespace poprt::test {

// Returns ErrorCode::ok if the call throws nothing. Does not catch exceptions other than Error.
template <class F>
ErrorCode code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

// Returns "CODE: MESSAGE", or "none" if the call throws nothing.
template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "none";
}

// Expects an Error with this code whose message contains `part`.
template <class F>
void expect_error(F&& f, ErrorCode code, std::string_view part) {
  try {
    f();
    ADD_FAILURE() << "no error, expected " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
  }
}

}  // namespace poprt::test
