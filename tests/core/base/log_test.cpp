#include "base/log.h"

#include <gtest/gtest.h>

namespace poprt {
namespace {

TEST(Log, LevelNamesAreCaseInsensitive) {
  const auto before = log().level();
  EXPECT_TRUE(set_log_level("debug"));
  EXPECT_EQ(log().level(), LogLevel::debug);
  EXPECT_TRUE(set_log_level("WARN"));
  EXPECT_EQ(log().level(), LogLevel::warn);
  EXPECT_TRUE(set_log_level("Err"));
  EXPECT_EQ(log().level(), LogLevel::error);
  EXPECT_TRUE(set_log_level("OFF"));
  EXPECT_EQ(log().level(), LogLevel::off);
  log().set_level(before);
}

TEST(Log, UnknownLevelChangesNothing) {
  const auto before = log().level();
  EXPECT_FALSE(set_log_level("LOUD"));
  EXPECT_FALSE(set_log_level(""));
  EXPECT_EQ(log().level(), before);
}

TEST(Log, WritesToStandardError) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log().error("message {}", 42);
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_NE(err.find("message 42"), std::string::npos) << err;
  EXPECT_NE(err.find("poprt"), std::string::npos) << err;
}

}  // namespace
}  // namespace poprt
