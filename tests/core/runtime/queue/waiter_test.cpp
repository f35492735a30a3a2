#include "runtime/queue/waiter.h"

#include <gtest/gtest.h>

#include <thread>

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Waiter, ReturnsAtOnceWhenReady) {
  Waiter waiter;
  EXPECT_TRUE(waiter.wait([] { return true; }));
}

TEST(Waiter, StopsWaitingAtTheDeadline) {
  Waiter waiter;
  const auto deadline = Waiter::Clock::now() + 5ms;
  EXPECT_FALSE(waiter.wait([] { return false; }, deadline));
  EXPECT_GE(Waiter::Clock::now(), deadline);
}

TEST(Waiter, NoWakeUpIsLost) {
  Waiter a, b;
  std::atomic<int> turn{0};
  constexpr int kRounds = 5000;
  std::thread other([&] {
    for (int i = 0; i < kRounds; i++) {
      a.wait([&] { return turn.load() == 2 * i + 1; });
      turn.store(2 * i + 2);
      b.notify();
    }
  });
  for (int i = 0; i < kRounds; i++) {
    turn.store(2 * i + 1);
    a.notify();
    if (i % 100 == 0) std::this_thread::sleep_for(50us);  // sometimes the other really sleeps
    b.wait([&] { return turn.load() == 2 * i + 2; });
  }
  other.join();
  EXPECT_EQ(turn.load(), 2 * kRounds);
}

TEST(Waiter, WakesAllThatWait) {
  Waiter waiter;
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] { EXPECT_TRUE(waiter.wait([&] { return go.load(); })); });
  std::this_thread::sleep_for(2ms);
  go.store(true);
  waiter.notify();
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace poprt::runtime
