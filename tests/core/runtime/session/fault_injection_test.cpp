#include "runtime/session/fault_injection.h"

#include <gtest/gtest.h>

#include "support/recorded_lines.h"

namespace poprt::runtime {
namespace {

std::vector<int> hits(FaultInjector& injector, int replica, int runs) {
  std::vector<int> list;
  for (int i = 1; i <= runs; i++)
    if (injector.before_run(replica)) list.push_back(i);
  return list;
}

TEST(FaultInjector, ReadsItsText) {
  FaultInjector a("application_runtime_error@3;recoverable_runtime_error:IPU_RESET@5*2;");
  EXPECT_EQ(hits(a, 0, 8), (std::vector<int>{3, 5, 6}));
  FaultInjector b("unknown_runtime_error@2/1");
  EXPECT_TRUE(hits(b, 0, 5).empty());
  EXPECT_EQ(hits(b, 1, 5), std::vector<int>{2});
  FaultInjector c("recoverable_runtime_error:PARTITION_RESET");
  const auto error = c.before_run(0);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->action, RecoveryAction::partition_reset);
  EXPECT_FALSE(error->resettable());
  EXPECT_EQ(c.runs(), 1u);
}

TEST(FaultInjector, RefusesInvalidTexts) {
  for (const char* text : {"warp", "application_runtime_error@x", "slow:", "slow:1s",
                           "recoverable_runtime_error:BOOT", "runtime_error*", "@", "/1"}) {
    try {
      FaultInjector injector{std::string_view(text)};
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << text;
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  }
}

// The name, the meaning and the remedy of each error; valid and invalid texts, and the runs of two
// replicas that they affect.
TEST(FaultInjector, MatchesTheRecord) {
  test::RecordedLines found;
  for (int c = 0; c < 5; c++)
    for (int a = 0; a < 5; a++) {
      const DeviceError e{static_cast<DeviceErrorClass>(c), static_cast<RecoveryAction>(a)};
      found["errors"].insert(fmt::format("{} {}: {}, {}; {}", device_error_name(e.error),
                                         recovery_action_name(e.action), error_code_name(e.code()),
                                         e.message(1, false), e.message(1, true)));
    }
  const std::string text = "runtime_error:IPU_RESET@2*3/1";
  std::vector<std::string> texts = {text,
                                    "",
                                    ";",
                                    ";;" + text,
                                    text + ";" + text,
                                    "slow:1@2",
                                    "slow:1*0",
                                    "runtime_error@0",
                                    "runtime_error@1*1/0",
                                    "runtime_error*2@1",
                                    "runtime_error/0/1",
                                    "runtime_error:",
                                    "runtime_error@2*18446744073709551615",
                                    "runtime_error@-1",
                                    "slow:-1",
                                    "runtime_error/-1"};
  for (size_t i = 0; i < text.size(); i++) {
    texts.push_back(text.substr(0, i));
    texts.push_back(text.substr(0, i) + text.substr(i + 1));
  }
  for (const std::string& t : texts) {
    std::string error_text = "hits";
    try {
      FaultInjector injector{std::string_view(t)};
      for (int run = 1; run <= 6; run++)
        for (const int replica : {0, 1})
          if (const auto error = injector.before_run(replica))
            error_text += fmt::format(" {}/{} {}", run, replica, error->message(replica, true));
      error_text += fmt::format(", {} runs", injector.runs());
    } catch (const Error& e) {
      error_text = fmt::format("{}: {}", error_code_name(e.code()), e.message());
    }
    found["texts"].insert("'" + t + "': " + error_text);
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/runtime_faults.txt",
                        "Faults that are injected: fault_injection_test.cpp.");
}

TEST(FaultInjector, RandomFaultsRepeatWithTheirSeed) {
  const auto run = [](uint64_t seed) {
    FaultInjector injector;
    injector.add_random(seed, 100'000, {});
    return hits(injector, 0, 10'000);
  };
  const auto a = run(1);
  EXPECT_EQ(a, run(1));
  EXPECT_NE(a, run(2));
  EXPECT_NEAR(static_cast<double>(a.size()), 1000, 150);
}

TEST(DeviceError, MessagesContainClassActionAndRemedy) {
  const DeviceError error{DeviceErrorClass::recoverable_runtime_error, RecoveryAction::ipu_reset};
  EXPECT_EQ(error.message(2, true),
            "recoverable_runtime_error (IPU_RESET) on replica 2: the IPU is reset before the next "
            "request");
  EXPECT_NE(error.message(2, false).find("set auto_reset"), std::string::npos);
}

}  // namespace
}  // namespace poprt::runtime
