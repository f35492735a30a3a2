#include "runtime/session/fault_injection.h"

#include <gtest/gtest.h>

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

TEST(FaultInjector, NamesWhatIsWrongWithItsText) {
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

TEST(DeviceError, MessagesSayClassActionAndRemedy) {
  const DeviceError error{DeviceErrorClass::recoverable_runtime_error, RecoveryAction::ipu_reset};
  EXPECT_EQ(error.message(2, true),
            "recoverable_runtime_error (IPU_RESET) on replica 2: the IPU is reset before the next "
            "request");
  EXPECT_NE(error.message(2, false).find("set auto_reset"), std::string::npos);
}

}  // namespace
}  // namespace poprt::runtime
