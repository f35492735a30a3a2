#include "device/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"

namespace poprt::device {
namespace {

TEST(EnvironmentInt, ReadsNumbersInRange) {
  unsetenv("POPRT_TEST_NUMBER");
  EXPECT_FALSE(environment_int("POPRT_TEST_NUMBER", 1, 9));
  setenv("POPRT_TEST_NUMBER", "", 1);
  EXPECT_FALSE(environment_int("POPRT_TEST_NUMBER", 1, 9));
  setenv("POPRT_TEST_NUMBER", "9", 1);
  EXPECT_EQ(environment_int("POPRT_TEST_NUMBER", 1, 9), 9);
  for (const char* bad : {"0", "10", "1.5", " 1", "one", "99999999999999999999"}) {
    setenv("POPRT_TEST_NUMBER", bad, 1);
    EXPECT_THROW(environment_int("POPRT_TEST_NUMBER", 1, 9), Error) << bad;
  }
  setenv("POPRT_TEST_NUMBER", "1", 1);
  EXPECT_EQ(environment_int("POPRT_TEST_NUMBER", 1, 9), 1);
  setenv("POPRT_TEST_NUMBER", "10", 1);
  try {
    environment_int("POPRT_TEST_NUMBER", 1, 9);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(e.what(),
                 "environment variable POPRT_TEST_NUMBER='10' must be a number from 1 to 9");
  }
  unsetenv("POPRT_TEST_NUMBER");
}

}  // namespace
}  // namespace poprt::device
