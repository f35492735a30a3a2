#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

#include "support/few_threads.h"

namespace poprt {
namespace {

TEST(WorkOnThreads, CallsOnSoManyAtTheSameTime) {
  std::latch all(3);
  work_on_threads(3, [&] { all.arrive_and_wait(); });
  std::atomic<int> called{0};
  work_on_threads(0, [&] { called++; });
  EXPECT_EQ(called, 1);
}

TEST(WorkOnThreads, RethrowsAnExceptionAfterAllThreadsHaveEnded) {
  std::atomic<int> called{0};
  const auto caller = std::this_thread::get_id();
  for (const bool on_caller : {true, false}) {
    called = 0;
    EXPECT_THROW(work_on_threads(4,
                                 [&] {
                                   called++;
                                   if ((std::this_thread::get_id() == caller) == on_caller)
                                     throw std::runtime_error("no memory");
                                 }),
                 std::runtime_error);
    EXPECT_EQ(called, 4);
  }
}

TEST(WorkOnThreads, FewerDoItWhereNoMoreCanBeHad) {
  std::atomic<int> called{0};
  {
    const test::FewThreads few(1);
    work_on_threads(8, [&] { called++; });
  }
  EXPECT_EQ(called, 2);
}

TEST(WorkOnThreads, TheOthersTakeNoSignals) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> blocked{0};
  work_on_threads(3, [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    const bool is_blocked = sigismember(&mask, SIGINT) == 1;
    if (std::this_thread::get_id() == caller)
      EXPECT_FALSE(is_blocked);
    else
      blocked += is_blocked;
  });
  EXPECT_EQ(blocked, 2);
}

}  // namespace
}  // namespace poprt
