#include "runtime/queue/request.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using TimePoint = Clock::TimePoint;

RequestPtr taken(RequestPool& pool, RequestCallback callback = {},
                 TimePoint deadline = TimePoint::max()) {
  return RequestPtr(pool.take(1, callback, pool.clock.now(), deadline));
}

TEST(Deadline, IsSoLongAfterTheStart) {
  const TimePoint start(10s), never = TimePoint::max();
  EXPECT_EQ(deadline_after(start, 5ns), start + 5ns);
  EXPECT_EQ(deadline_after(start, 0ns), start);
  EXPECT_EQ(deadline_after(start, -5ns), start) << "it is over now";
  EXPECT_EQ(deadline_after(start, std::nullopt), never);
  EXPECT_EQ(deadline_after(start, never - start), never);
  EXPECT_EQ(deadline_after(start, never - start - 1ns), never - 1ns);
  EXPECT_EQ(deadline_after(start, std::chrono::nanoseconds::max()), never);
}

// The notifications in the order of time, with the state of the request that the notified thread
// sees.
struct Notifications {
  std::vector<std::string> what;
  Request* request = nullptr;
  void add(const char* text) {
    what.push_back(std::string(text) + (request->done() ? " done" : " not done"));
  }
  static Notifications& of(void* context) { return *static_cast<Notifications*>(context); }
};

RequestCallback notifying_callback(Notifications& notified) {
  RequestCallback c;
  c.context = &notified;
  c.before = [](void* t) noexcept { Notifications::of(t).add("before"); };
  c.call = [](void* t, ErrorCode) noexcept { Notifications::of(t).add("call"); };
  return c;
}

TEST(Request, OnlyOneClaimSucceeds) {
  const auto pool = RequestPool::make(1, 1);
  Notifications notified;
  const RequestPtr r = taken(*pool, notifying_callback(notified));
  notified.request = r.get();
  EXPECT_TRUE(r->queued());
  EXPECT_FALSE(r->done());
  EXPECT_TRUE(r->claim());
  EXPECT_FALSE(r->claim());
  EXPECT_FALSE(r->queued());
  EXPECT_FALSE(r->cancel());
  EXPECT_FALSE(r->wait(0ns));
  r->complete(ErrorCode::ok);
  EXPECT_EQ(notified.what, (std::vector<std::string>{"before not done", "call done"}));
  EXPECT_TRUE(r->done());
  EXPECT_TRUE(r->wait(0ns));
  EXPECT_EQ(r->code(), ErrorCode::ok);
  EXPECT_EQ(r->failure(), nullptr);
  EXPECT_NO_THROW(r->check());
}

std::string failure_text(const Request& r) {
  try {
    r.check();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), r.code());
    EXPECT_EQ(r.failure()->message(), e.message());
    return e.message();
  }
  return "";
}

TEST(Request, ReportsItsError) {
  const auto pool = RequestPool::make(1, 1);
  Notifications notified;
  const RequestPtr failed = taken(*pool, notifying_callback(notified));
  notified.request = failed.get();
  EXPECT_TRUE(failed->claim());
  failed->complete(ErrorCode::aborted,
                   std::make_shared<const Error>(ErrorCode::aborted, "the device is gone"));
  EXPECT_EQ(failure_text(*failed), "the device is gone");
  EXPECT_EQ(notified.what, std::vector<std::string>{"call done"}) << "nothing before a failure";
  const RequestPtr cancelled = taken(*pool);
  EXPECT_TRUE(cancelled->cancel());
  EXPECT_FALSE(cancelled->cancel());
  EXPECT_FALSE(cancelled->claim());
  EXPECT_EQ(failure_text(*cancelled), "the request was not run: it was cancelled");
  const TimePoint limit = pool->clock.now() + 1h;
  const RequestPtr late = taken(*pool, {}, limit);
  EXPECT_FALSE(late->expire(limit - 1ns));
  EXPECT_FALSE(late->done());
  EXPECT_TRUE(late->expire(limit));
  EXPECT_EQ(failure_text(*late), "the request was not run: its time was over before it began");
  EXPECT_EQ(stopped_failure()->message(), "the request was not run: the runner was stopped");
  try {
    fail_stopped_runner();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::cancelled);
    EXPECT_EQ(e.message(), "the runner was stopped");
  }
}

TEST(Request, NotifiesThePoolOfRequestsAnsweredInTheQueue) {
  const auto pool = RequestPool::make(1, 1);
  std::vector<ErrorCode> codes;
  pool->on_answered = {[](void* c, ErrorCode code) noexcept {
                         static_cast<std::vector<ErrorCode>*>(c)->push_back(code);
                       },
                       &codes};
  const uint64_t wakeups = pool->wakeups();
  const RequestPtr a = taken(*pool), b = taken(*pool, {}, pool->clock.now()), c = taken(*pool);
  a->cancel();
  b->expire(pool->clock.now());
  EXPECT_TRUE(c->claim());
  c->complete(ErrorCode::ok);
  EXPECT_EQ(codes, (std::vector{ErrorCode::cancelled, ErrorCode::deadline_exceeded}));
  EXPECT_EQ(pool->wakeups(), wakeups + 2) << "the runner drops both";
}

TEST(Request, IsWatchedWithAWaiterOrACallback) {
  const auto pool = RequestPool::make(1, 1);
  pool->wake_on_watch = true;
  Notifications notified;
  const RequestPtr quiet = taken(*pool), called = taken(*pool, notifying_callback(notified));
  notified.request = called.get();
  EXPECT_TRUE(called->watched());
  EXPECT_FALSE(quiet->watched());
  const uint64_t wakeups = pool->wakeups();
  std::thread waiter([&] { quiet->wait(); });
  while (!quiet->watched()) std::this_thread::yield();
  while (pool->wakeups() == wakeups) std::this_thread::yield();
  EXPECT_TRUE(quiet->claim());
  quiet->complete(ErrorCode::ok);
  waiter.join();
  EXPECT_FALSE(quiet->watched());
  const uint64_t after = pool->wakeups();
  EXPECT_TRUE(quiet->wait());
  EXPECT_EQ(pool->wakeups(), after) << "it is done: no thread is woken";
  called->cancel();
}

// A waiting thread answers its request when the time is over, also if the runner is busy.
TEST(Request, WhoWaitsEndsItWhenItsTimeIsOver) {
  const auto pool = RequestPool::make(1, 1);
  const RequestPtr late = taken(*pool, {}, pool->clock.now() + 2ms);
  EXPECT_TRUE(late->wait());
  EXPECT_EQ(late->code(), ErrorCode::deadline_exceeded);
  const RequestPtr running = taken(*pool, {}, pool->clock.now() + 1ms);
  EXPECT_TRUE(running->claim());
  EXPECT_FALSE(running->wait(3ms)) << "it has begun: its time counts no more";
  running->complete(ErrorCode::ok);
  const RequestPtr patient = taken(*pool, {}, pool->clock.now() + 1h);
  EXPECT_FALSE(patient->wait(1ms));
  EXPECT_FALSE(patient->done());
  EXPECT_FALSE(patient->wait(-1ns));
  patient->cancel();
  EXPECT_TRUE(patient->wait(std::chrono::nanoseconds::max()));
}

TEST(RequestPool, GivesARequestOutAgainAsNew) {
  const auto pool = RequestPool::make(2, 1);
  Request* first = nullptr;
  {
    const RequestPtr r = taken(*pool, {}, pool->clock.now() + 1h);
    first = r.get();
    r->taken = r->stored = 3;
    r->claim();
    r->complete(ErrorCode::aborted, stopped_failure());
  }
  const TimePoint submitted(77s);
  const RequestPtr again(pool->take(1, {}, submitted, TimePoint::max()));
  ASSERT_EQ(again.get(), first);
  EXPECT_TRUE(again->queued());
  EXPECT_FALSE(again->has_deadline());
  EXPECT_EQ(again->taken + again->stored, 0u);
  EXPECT_EQ(again->submitted, submitted);
  EXPECT_FALSE(again->watched());
  EXPECT_TRUE(again->claim());
  again->complete(ErrorCode::ok);
  EXPECT_EQ(again->failure(), nullptr);
  const RequestPtr other = taken(*pool);
  EXPECT_NE(other.get(), first);
}

// The pool is freed with its last request.
TEST(RequestPool, RequestsOutliveTheirRunner) {
  RequestPtr kept, back;
  {
    const auto pool = RequestPool::make(1, 1);
    kept = taken(*pool);
    back = taken(*pool);
    back = RequestPtr();
  }
  EXPECT_TRUE(kept->cancel());
  const RequestPtr copy = kept;
  kept = RequestPtr();
  EXPECT_EQ(copy->code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace poprt::runtime
