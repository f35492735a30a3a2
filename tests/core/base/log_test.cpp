#include "base/log.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/log_level.h"
#include "support/sanitized.h"

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

TEST(Log, UnknownLevelKeepsTheLevel) {
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

TEST(Log, LinesHaveTheFormatOfPopRT) {
  testing::internal::CaptureStderr();
  log().error("message");
  const std::string err = testing::internal::GetCapturedStderr();
  const std::regex line(
      R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ERROR \[poprt\] log_test\.cpp:\d+\] message\n)");
  EXPECT_TRUE(std::regex_match(err, line)) << err;
}

TEST(Log, WarningsOfAThreadAreFiltered) {
  static std::vector<std::string> printed;
  printed.clear();
  set_log_receiver([](int32_t, const char* text) { printed.emplace_back(text); });
  {
    const WarningFilter outer([](const std::string& text) { return text != "a"; });
    {
      const WarningFilter inner([](const std::string& text) { return text == "a"; });
      log().warn("a");
      log().warn("b");
      log().error("b");
    }
    log().warn("a");
    std::thread([] { log().warn("a"); }).join();
  }
  log().warn("a");
  set_log_receiver(nullptr);
  EXPECT_EQ(printed, (std::vector<std::string>{"a", "b", "a", "a"}));
}

TEST(Log, EveryLevelHasItsNames) {
  const auto before = log().level();
  const std::pair<const char*, LogLevel> names[] = {
      {"TRACE", LogLevel::trace},  {"debug", LogLevel::debug}, {"Info", LogLevel::info},
      {"WARNING", LogLevel::warn}, {"WARN", LogLevel::warn},   {"ERROR", LogLevel::error},
      {"ERR", LogLevel::error},    {"OFF", LogLevel::off},     {"CRITICAL", LogLevel::critical}};
  for (const auto& [name, level] : names) {
    EXPECT_TRUE(set_log_level(name)) << name;
    EXPECT_EQ(log().level(), level) << name;
  }
  log().set_level(before);
}

TEST(Log, WritesNoMessageBelowItsLevel) {
  const auto before = log().level();
  log().set_level(LogLevel::error);
  testing::internal::CaptureStderr();
  log().warn("quiet");
  log().error("loud");
  const std::string err = testing::internal::GetCapturedStderr();
  log().set_level(before);
  EXPECT_EQ(err.find("quiet"), std::string::npos) << err;
  EXPECT_NE(err.find("loud"), std::string::npos) << err;
}

TEST(LogDeathTest, WarnsOfUnknownLevelsInTheEnvironment) {
  const auto warn = [](const char* variable, const char* value) {
    setenv(variable, value, 1);
    warn_of_unknown_log_level();
    _exit(0);
  };
  EXPECT_EXIT(warn("POPRT_LOG_LEVEL", "LOUD"), testing::ExitedWithCode(0),
              "POPRT_LOG_LEVEL is 'LOUD', expected TRACE");
  EXPECT_EXIT(warn("MODEL_RUNTIME_LOG_LEVEL", "LOUDER"), testing::ExitedWithCode(0),
              "MODEL_RUNTIME_LOG_LEVEL is 'LOUDER'");
}

#if !POPRT_TEST_SANITIZED
// A thread of the parent may have the lock of the lines when the process forks.
TEST(Log, AForkedChildWrites) {
  testing::internal::CaptureStderr();
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) log().error("of the parent");
  });
  constexpr int kChildren = 100;
  int ended = 0;
  for (int i = 0; i < kChildren; i++) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);
      log().error("of child {}", i);
      ::_exit(0);
    }
    int status = -1;
    ended += child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
    std::this_thread::sleep_for(std::chrono::microseconds(i * 7 % 100));
  }
  stop = true;
  other.join();
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(ended, kChildren);
  for (int i = 0; i < kChildren; i++)
    EXPECT_NE(err.find(fmt::format("] of child {}\n", i)), std::string::npos) << i;
}
#endif

}  // namespace
}  // namespace poprt
