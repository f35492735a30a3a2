#include "base/fork_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "support/sanitized.h"

namespace poprt {
namespace {

TEST(ForkMutex, ExcludesThreads) {
  ForkMutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; i++) {
        const std::lock_guard lock(mutex);
        count = count + 1;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count, 80000);
  EXPECT_FALSE(mutex.abandoned());
}

TEST(ForkMutex, TryLockFailsWhileItIsHeld) {
  ForkMutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(ForkMutex, AWaitingThreadLocksTheMutexNext) {
  ForkMutex mutex;
  mutex.lock();
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&] {
      const std::lock_guard lock(mutex);
      got++;
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(got.load(), 0);
  mutex.unlock();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(got.load(), 3);
}

std::chrono::nanoseconds processor_time_of_this_thread() {
  timespec now{};
  EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

TEST(ForkMutex, AWaitingThreadUsesNoProcessorTime) {
  using std::chrono::milliseconds;
  ForkMutex mutex;
  mutex.lock();
  std::atomic<bool> started{false};
  std::chrono::nanoseconds used{};
  std::thread waiting([&] {
    const auto before = processor_time_of_this_thread();
    started = true;
    mutex.lock();
    used = processor_time_of_this_thread() - before;
    mutex.unlock();
  });
  while (!started) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(300));
  mutex.unlock();
  waiting.join();
  EXPECT_LT(used, milliseconds(10));
}

// Threads that hold it for longer than a millisecond take turns, although each locks it again
// immediately.
TEST(ForkMutex, ThreadsTakeTurns) {
  constexpr int kThreads = 4, kTurns = 25;
  ForkMutex mutex;
  std::atomic<int> turns{0};
  std::vector<int> most(kThreads);  // turns of others while the thread waited
  std::vector<std::thread> threads;
  for (int& longest : most)
    threads.emplace_back([&] {
      for (int i = 0; i < kTurns; i++) {
        const int before = turns;
        const std::lock_guard lock(mutex);
        longest = std::max(longest, turns - before);
        turns++;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(turns, kThreads * kTurns);
  // Before all threads have begun to wait, one may have several turns.
  for (const int others : most) EXPECT_LE(others, 3 * kThreads);
}

// A sanitizer's own threads do not survive fork().
#if !POPRT_TEST_SANITIZED
int in_child(int (*code)(ForkMutex&), ForkMutex& mutex) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(code(mutex));
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ForkMutex, ChildTakesALockHeldByAThreadOfTheParent) {
  EXPECT_EQ(this_process(), ::getpid());
  ForkMutex mutex;
  mutex.lock();  // a child has only the forking thread, so any holder counts
  const auto take = [](ForkMutex& m) {
    if (this_process() != ::getpid()) return 1;
    m.lock();
    if (!m.abandoned()) return 2;
    std::atomic<bool> got{false};
    std::thread other([&] {
      const std::lock_guard lock(m);
      got = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (got) return 3;
    m.unlock();
    other.join();
    return m.abandoned() ? 0 : 4;
  };
  EXPECT_EQ(in_child(take, mutex), 0);
  mutex.unlock();
  const auto free = [](ForkMutex& m) {
    m.lock();
    return m.abandoned() ? 1 : 0;
  };
  EXPECT_EQ(in_child(free, mutex), 0);
  EXPECT_FALSE(mutex.abandoned());
}
#endif

}  // namespace
}  // namespace poprt
