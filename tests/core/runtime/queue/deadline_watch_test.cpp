#include "runtime/queue/deadline_watch.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "core/runtime/runner/replica_support.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using namespace replica_test;

RequestPtr request_until(RequestPool& pool, std::chrono::nanoseconds timeout) {
  const auto now = pool.clock.now();
  return RequestPtr(pool.take(1, {}, now, deadline_after(now, timeout)));
}

TEST(DeadlineWatch, EndsTheEarliestFirst) {
  const auto pool = RequestPool::make(1, 1);
  DeadlineWatch watch;
  const auto never = request_until(*pool, std::chrono::hours(1));
  const auto later = request_until(*pool, 60ms);
  const auto soon = request_until(*pool, 5ms);
  for (const auto& r : {never, later, soon}) watch.add(r);
  EXPECT_TRUE(eventually([&] { return soon->done(); }));
  EXPECT_TRUE(eventually([&] { return later->done(); }));
  EXPECT_EQ(soon->code(), ErrorCode::deadline_exceeded);
  EXPECT_FALSE(never->done());
}

TEST(DeadlineWatch, WakesForAnEarlierDeadline) {
  const auto pool = RequestPool::make(1, 1);
  DeadlineWatch watch;
  watch.add(request_until(*pool, std::chrono::hours(1)));
  std::this_thread::sleep_for(20ms);  // until the thread of the watch sleeps
  const auto soon = request_until(*pool, 1ms);
  watch.add(soon);
  EXPECT_TRUE(eventually([&] { return soon->done(); }));
}

// A clean-up removes the first element of the heap, and the element that replaces it is not the
// earliest.
TEST(DeadlineWatch, FindsTheEarliestAfterAForgottenOne) {
  const auto pool = RequestPool::make(1, 1);
  DeadlineWatch watch;
  const auto first = request_until(*pool, 200ms), soon = request_until(*pool, 300ms);
  watch.add(first);
  watch.add(request_until(*pool, std::chrono::hours(1)));
  watch.add(soon);
  first->cancel();
  for (int i = 0; i < 100; i++) watch.add(request_until(*pool, std::chrono::hours(2)));
  EXPECT_TRUE(eventually([&] { return soon->done(); }));
  EXPECT_EQ(soon->code(), ErrorCode::deadline_exceeded);
}

TEST(DeadlineWatch, KeepsRunningRequests) {
  const auto pool = RequestPool::make(1, 1);
  DeadlineWatch watch;
  const auto running = request_until(*pool, 1ms);
  EXPECT_TRUE(running->claim());
  const auto waiting = request_until(*pool, 20ms);
  watch.add(running);
  watch.add(waiting);
  EXPECT_TRUE(eventually([&] { return waiting->done(); }));
  EXPECT_FALSE(running->done());
  running->complete(ErrorCode::ok);
}

TEST(DeadlineWatch, ForgetsRequestsThatAreDoneLongBeforeTheirTime) {
  const auto pool = RequestPool::make(1, 1);
  DeadlineWatch watch;
  std::vector<const Request*> seen;
  for (int i = 0; i < 10000; i++) {
    const auto r = request_until(*pool, std::chrono::hours(1));
    if (std::find(seen.begin(), seen.end(), r.get()) == seen.end()) seen.push_back(r.get());
    watch.add(r);
    r->cancel();
  }
  EXPECT_LE(seen.size(), 200u);  // requests are used again
}

// 0 if the kernel does not report it.
uint64_t slice_of_this_thread() {
  std::array<uint64_t, 6> attributes = {};
  syscall(SYS_sched_getattr, 0, attributes.data(), sizeof attributes, 0);
  return attributes[3];
}

// The actions of the watching thread before it reports a request.
struct Notified {
  std::atomic<int> count{0};
  std::atomic<int64_t> sleeps{0};  // how often the thread had slept at the last report
  std::atomic<bool> in_time{true};
  char thread[16] = "";
  uint64_t slice = 0;  // the time slice that the thread requested from the kernel

  static void call(void* context, const Request& request) noexcept {
    auto& notified = *static_cast<Notified*>(context);
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    notified.sleeps = usage.ru_nvcsw;
    pthread_getname_np(pthread_self(), notified.thread, sizeof notified.thread);
    notified.slice = slice_of_this_thread();
    if (std::chrono::steady_clock::now() < request.deadline()) notified.in_time = false;
    notified.count++;
  }
};

TEST(DeadlineWatch, NotifiesCloseDeadlinesTogether) {
  const auto pool = RequestPool::make(1, 1);
  DeadlineWatch watch;
  Notified notified;
  RequestCallback callback;
  callback.full = Notified::call;
  callback.context = &notified;
  const auto start = pool->clock.now() + 300ms;  // long after all were added
  constexpr int kCount = 2000;                   // 20 us apart: 40 ms
  std::vector<RequestPtr> all;
  for (int i = 0; i < kCount; i++) {
    all.emplace_back(pool->take(1, callback, pool->clock.now(), start + i * 20us));
    watch.add(all.back());
  }
  EXPECT_TRUE(eventually([&] { return notified.count == kCount; }));
  EXPECT_TRUE(notified.in_time);  // none before its time
  EXPECT_STREQ(notified.thread, "poprt-limits");
  EXPECT_LE(notified.sleeps, 200);  // 80 naps of 500 us; one for each would be 2000
  if (const uint64_t usual = slice_of_this_thread()) {
    EXPECT_LT(notified.slice, usual);  // the thread may interrupt others that compute
  }
}

}  // namespace
}  // namespace poprt::runtime
