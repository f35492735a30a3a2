#include "base/fork_condition.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "support/sanitized.h"

namespace poprt {
namespace {

using namespace std::chrono_literals;

TEST(ForkCondition, WakesAllThreadsThatWait) {
  ForkMutex mutex;
  ForkCondition changed;
  int round = 0, seen = 0;
  constexpr int kThreads = 4, kRounds = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&] {
      std::unique_lock lock(mutex);
      for (int r = 1; r <= kRounds; r++) {
        changed.wait(lock, [&] { return round >= r; });
        seen++;
        changed.notify_all();
      }
    });
  for (int r = 1; r <= kRounds; r++) {
    std::unique_lock lock(mutex);
    round = r;
    changed.notify_all();
    changed.wait(lock, [&] { return seen == r * kThreads; });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(seen, kRounds * kThreads);
}

TEST(ForkCondition, WaitsUntilTheDeadline) {
  ForkMutex mutex;
  ForkCondition changed;
  std::unique_lock lock(mutex);
  const auto begin = ForkCondition::Clock::now();
  EXPECT_FALSE(changed.wait_until(lock, begin + 20ms, [] { return false; }));
  EXPECT_GE(ForkCondition::Clock::now() - begin, 20ms);
  EXPECT_TRUE(changed.wait_until(lock, begin, [] { return true; }));
  bool ready = false;
  std::thread other([&] {
    {
      const std::lock_guard own(mutex);
      ready = true;
    }
    changed.notify_all();
  });
  EXPECT_TRUE(
      changed.wait_until(lock, ForkCondition::Clock::time_point::max(), [&] { return ready; }));
  lock.unlock();
  other.join();
}

#if !POPRT_TEST_SANITIZED
TEST(ForkCondition, AChildUsesItWhileThreadsOfTheParentWait) {
  ForkMutex mutex;
  auto changed = std::make_unique<ForkCondition>();
  bool end = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      std::unique_lock lock(mutex);
      while (!end) changed->wait_until(lock, ForkCondition::Clock::now() + 100us);
    });
  for (int i = 0; i < 100; i++) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(30);
      bool ready = false;
      std::thread other([&] {
        const std::lock_guard lock(mutex);
        ready = true;
        changed->notify_all();
      });
      {
        std::unique_lock lock(mutex);
        changed->wait(lock, [&] { return ready; });
      }
      other.join();
      changed.reset();
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << i;
  }
  {
    const std::lock_guard lock(mutex);
    end = true;
    changed->notify_all();
  }
  for (std::thread& t : threads) t.join();
}
#endif

}  // namespace
}  // namespace poprt
