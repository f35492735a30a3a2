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
  unsetenv("POPRT_TEST_NUMBER");
}

}  // namespace
}  // namespace poprt::device
