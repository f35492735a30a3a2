#include "base/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <thread>

namespace poprt {
namespace {

// The state of the calling thread, as the kernel reports it.
struct ThreadState {
  uint64_t slice = 0;  // 0: not reported
  int policy = 0, nice = 0;
};

ThreadState thread_state() {
  std::array<uint64_t, 6> words = {};  // size and policy, flags, nice and priority, runtime ...
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, words.data(), sizeof words, 0), 0);
  return {words[3], sched_getscheduler(0), getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()))};
}

// Runs a test on a separate thread, because the slice stays with the thread.
void on_a_thread(const std::function<void()>& test) { std::thread(test).join(); }

TEST(TimeSlice, RequestedSliceIsShorterThanUsual) {
  ThreadState usual, shorter;
  on_a_thread([&] { usual = thread_state(); });
  on_a_thread([&] {
    request_short_time_slice();
    shorter = thread_state();
  });
  if (!usual.slice) GTEST_SKIP() << "this kernel has no slices of threads";
  EXPECT_LT(shorter.slice, usual.slice);
}

TEST(TimeSlice, SharesOfTheProcessorStay) {
  on_a_thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 7), 0);
    request_short_time_slice();
    EXPECT_EQ(thread_state().policy & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
    EXPECT_EQ(thread_state().nice, 7);
  });
}

TEST(TimeSlice, AThreadThatIsStartedThenHasTheUsualOne) {
  on_a_thread([] {
    const uint64_t usual = thread_state().slice;
    request_short_time_slice();
    on_a_thread([usual] { EXPECT_EQ(thread_state().slice, usual); });
  });
}

TEST(TimeSlice, ABackgroundThreadStaysOne) {
  on_a_thread([] {
    const sched_param none = {};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    const ThreadState before = thread_state();
    request_short_time_slice();
    EXPECT_EQ(thread_state().slice, before.slice);
    EXPECT_EQ(thread_state().policy, SCHED_BATCH);
  });
}

}  // namespace
}  // namespace poprt
