#include "base/error.h"

#include <gtest/gtest.h>

#include <set>

namespace poprt {
namespace {

TEST(Error, FailFormatsItsMessage) {
  try {
    fail(ErrorCode::not_found, "no file '{}' in {} folders", "x", 3);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_STREQ(e.what(), "no file 'x' in 3 folders");
  }
}

TEST(Error, MessageBeginsWithTheOutermostContext) {
  Error e(ErrorCode::data_loss, "message");
  e.add_context("inner");
  e.add_context("outer");
  EXPECT_STREQ(e.what(), "outer: inner: message");
  EXPECT_EQ(e.code(), ErrorCode::data_loss);
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= 15; i++) names.insert(error_code_name(static_cast<ErrorCode>(i)));
  EXPECT_EQ(names.size(), 16u);
  EXPECT_EQ(error_code_name(static_cast<ErrorCode>(99)), "unknown");
}

TEST(Error, AssertThrowsInternalWithTheCondition) {
  try {
    POPRT_ASSERT(1 + 1 == 3);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::internal);
    EXPECT_NE(e.message().find("1 + 1 == 3"), std::string::npos);
  }
  EXPECT_NO_THROW(POPRT_ASSERT(true));
}

}  // namespace
}  // namespace poprt
