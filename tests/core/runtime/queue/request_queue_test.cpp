// Requests while the device computes and the queue is full, or the request is late or stopped.
#include "runtime/queue/request_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "core/runtime/runner/replica_support.h"
#include "support/failing_allocation.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using namespace replica_test;

RequestOptions when_full(WhenFull what,
                         std::optional<std::chrono::nanoseconds> timeout = std::nullopt) {
  RequestOptions options;
  options.when_full = what;
  options.timeout = timeout;
  return options;
}

// A runner whose device waits for the gate, with two places in the queue.
struct Blocked {
  Gate gate;
  std::vector<std::unique_ptr<Rows>> rows;  // outlive the runner, which writes them
  std::unique_ptr<ModelRunner> runner;

  explicit Blocked(bool thread_safe = true) {
    RunnerConfig config =
        on(std::make_shared<FunctionDevice>([this](const void* const* in, void* const* out) {
          gate.wait();
          add_one(1)(in, out);
        }));
    config.queue_depth = 2;
    config.thread_safe = thread_safe;
    runner = std::make_unique<ModelRunner>(add_one_model({1}), config);
  }
  ~Blocked() { gate.open(); }

  RequestPtr submit(const RequestOptions& options, RequestCallback callback = {}) {
    rows.push_back(std::make_unique<Rows>(1, static_cast<float>(rows.size())));
    return runner->execute_async(rows.back()->in, rows.back()->out, callback, options);
  }
};

TEST(RequestQueue, RefusesWhenFullOnRequest) {
  Blocked b;
  const auto first = b.submit(when_full(WhenFull::fail));
  const auto second = b.submit(when_full(WhenFull::fail));
  EXPECT_EQ(code_of([&] { b.submit(when_full(WhenFull::fail)); }), ErrorCode::unavailable);
  EXPECT_EQ(b.runner->statistics().submitted, 2u);
  b.gate.open();
  EXPECT_TRUE(first->wait(60s));
  EXPECT_TRUE(second->wait(60s));
  EXPECT_TRUE(b.submit(when_full(WhenFull::fail))->wait(60s));  // there is room again
}

TEST(RequestQueue, ReportsWhyItRefusesRequests) {
  Blocked b;
  const auto message_for = [&](const RequestOptions& options) -> std::string {
    try {
      b.submit(options);
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  EXPECT_EQ(message_for({}), "");
  EXPECT_EQ(message_for({}), "");
  EXPECT_EQ(message_for(when_full(WhenFull::fail)), "the queue is full: 2 requests are in flight");
  EXPECT_EQ(message_for(when_full(WhenFull::wait, 1ms)),
            "the request was not run: its time was over while 2 others were in flight");
  b.gate.open();
  b.runner->stop();
  for (const WhenFull what : {WhenFull::wait, WhenFull::fail, WhenFull::line})
    EXPECT_EQ(message_for(when_full(what)), "the runner was stopped");
}

// A request that the watch of deadlines refuses, because memory is exhausted, is not counted.
TEST(RequestQueue, OnlySubmittedRequestsAreAccepted) {
  if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer owns malloc";
  for (const WhenFull full : {WhenFull::fail, WhenFull::line}) {
    RequestQueue queue(0, 0, 1, Clock(), true, [](ErrorCode) {});
    int accepted = 0, failed = 0;
    std::vector<RequestPtr> requests;
    requests.reserve(4);
    for (int wanted = 1; wanted <= (full == WhenFull::line ? 3 : 1); wanted++)
      for (int64_t left = 0; accepted < wanted; left++) {
        ASSERT_LT(left, 1000);
        test::allocations_left = left;
        try {
          requests.push_back(queue.submit(
              {}, when_full(full, 1h), false, [](Request&) {}, [&]() noexcept { accepted++; }));
        } catch (const std::exception&) {
          failed++;
        }
        test::allocations_left = -1;
        ASSERT_EQ(queue.submitted(), static_cast<uint64_t>(accepted));
        ASSERT_EQ(queue.in_flight(), static_cast<size_t>(accepted));
      }
    EXPECT_GT(failed, 2);
    for (const RequestPtr& r : requests) EXPECT_TRUE(r->cancel());
    for (Request* r = nullptr; queue.try_pop(r);) queue.drop(r);
    EXPECT_EQ(queue.in_flight(), 0u);
  }
}

TEST(RequestQueue, TheTimeToWaitForAPlaceCountsFromTheCall) {
  Blocked b;
  const auto first = b.submit({});
  const auto second = b.submit({});
  EXPECT_EQ(code_of([&] { b.submit(when_full(WhenFull::wait, 20ms)); }),
            ErrorCode::deadline_exceeded);
  EXPECT_EQ(b.runner->statistics().in_flight, 2u);
}

TEST(RequestQueue, ALineHasNoLimitAndKeepsTheOrder) {
  Blocked b;
  std::mutex mutex;
  std::vector<uint64_t> order;
  struct Context {
    std::mutex& mutex;
    std::vector<uint64_t>& order;
  } context{mutex, order};
  RequestCallback callback;
  callback.context = &context;
  callback.full = [](void* to, const Request& request) noexcept {
    auto& c = *static_cast<Context*>(to);
    const std::lock_guard lock(c.mutex);
    c.order.push_back(request.sequence);
  };
  std::vector<RequestPtr> requests;
  constexpr size_t kMany = 5000;
  for (size_t i = 0; i < kMany; i++)
    requests.push_back(b.submit(when_full(WhenFull::line), callback));
  EXPECT_EQ(b.runner->statistics().in_flight, kMany);
  // A free place belongs to the first waiting request.
  EXPECT_EQ(code_of([&] { b.submit(when_full(WhenFull::fail)); }), ErrorCode::unavailable);
  b.rows.pop_back();
  b.gate.open();
  for (const auto& r : requests) {
    ASSERT_TRUE(r->wait(60s));
    ASSERT_EQ(r->code(), ErrorCode::ok);
  }
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return order.size() == kMany;
  }));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  for (const auto& r : b.rows) ASSERT_TRUE(r->right());
  EXPECT_EQ(b.runner->statistics().in_flight, 0u);
}

TEST(RequestQueue, ALineWorksForRunnersOfOneThread) {
  Blocked b(false);
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 100; i++) requests.push_back(b.submit(when_full(WhenFull::line)));
  b.gate.open();
  for (const auto& r : requests) EXPECT_TRUE(r->wait(60s));
  for (const auto& r : b.rows) EXPECT_TRUE(r->right());
}

TEST(RequestQueue, LateRequestsAreAnsweredWhileTheDeviceComputes) {
  Blocked b;
  const auto running = b.submit({});
  std::atomic<int> answered{0};
  RequestCallback callback;
  callback.context = &answered;
  callback.call = [](void* to, ErrorCode code) noexcept {
    if (code == ErrorCode::deadline_exceeded) ++*static_cast<std::atomic<int>*>(to);
  };
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 200; i++)
    requests.push_back(b.submit(when_full(WhenFull::line, 30ms), callback));
  // No thread waits for them, and the runner's thread is in the device.
  EXPECT_TRUE(eventually([&] { return answered == 200; }));
  const RunnerStatistics s = b.runner->statistics();
  EXPECT_EQ(s.timed_out, 200u);
  EXPECT_EQ(s.in_flight, 1u);
  EXPECT_FALSE(running->done());
  b.gate.open();
  EXPECT_TRUE(running->wait(60s));
  EXPECT_TRUE(b.submit({})->wait(60s));  // late requests do not block it
}

TEST(RequestQueue, StatisticsKnowOfAnAnswerBeforeAnybodySeesIt) {
  Blocked b;
  const auto running = b.submit({});
  for (int i = 0; i < 50; i++) {
    const auto late = b.submit(when_full(WhenFull::line, 1ms));
    late->wait(60s);
    EXPECT_EQ(b.runner->statistics().timed_out, static_cast<uint64_t>(i) + 1);
    EXPECT_EQ(b.runner->statistics().in_flight, 1u);
  }
  const auto cancelled = b.submit(when_full(WhenFull::line));
  EXPECT_TRUE(cancelled->cancel());
  EXPECT_EQ(b.runner->statistics().cancelled, 1u);
  EXPECT_EQ(b.runner->statistics().in_flight, 1u);
}

TEST(RequestQueue, StoppingAnswersTheLine) {
  Blocked b;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 20; i++) requests.push_back(b.submit(when_full(WhenFull::line)));
  std::thread stopping([&] { b.runner->stop(); });
  // The other requests in the queue do not wait.
  for (size_t i = 2; i < requests.size(); i++) {
    EXPECT_TRUE(requests[i]->wait(60s));
    EXPECT_EQ(requests[i]->code(), ErrorCode::cancelled);
  }
  b.gate.open();
  stopping.join();
  EXPECT_EQ(b.runner->statistics().in_flight, 0u);
  EXPECT_EQ(code_of([&] { b.submit(when_full(WhenFull::line)); }), ErrorCode::cancelled);
}

TEST(RequestQueue, FreeingTheRunnerAnswersTheLine) {
  Blocked b;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 20; i++)
    requests.push_back(b.submit(when_full(WhenFull::line, std::chrono::hours(1))));
  std::thread opening([&] {
    std::this_thread::sleep_for(10ms);
    b.gate.open();
  });
  b.runner.reset();
  opening.join();
  for (const auto& r : requests) EXPECT_TRUE(r->done());
}

TEST(RequestQueue, EveryRequestOfManyThreadsIsAnsweredOnce) {
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(1)));
  config.queue_depth = 3;
  ModelRunner runner(add_one_model({1}), config);
  constexpr int kThreads = 4, kEach = 3000;
  std::atomic<int> answers{0};
  RequestCallback callback;
  callback.context = &answers;
  callback.call = [](void* to, ErrorCode) noexcept { ++*static_cast<std::atomic<int>*>(to); };
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      std::vector<std::unique_ptr<Rows>> rows;
      std::vector<RequestPtr> requests;
      for (int i = 0; i < kEach; i++) {
        rows.push_back(std::make_unique<Rows>(1, static_cast<float>(i)));
        const auto what = static_cast<WhenFull>((i + t) % 3);
        std::optional<std::chrono::nanoseconds> timeout;
        if (i % 5 == 0) timeout = std::chrono::microseconds(i % 50);
        try {
          requests.push_back(runner.execute_async(rows.back()->in, rows.back()->out, callback,
                                                  when_full(what, timeout)));
          if (i % 7 == 0) requests.back()->cancel();
        } catch (const Error& e) {
          EXPECT_TRUE(e.code() == ErrorCode::unavailable ||
                      e.code() == ErrorCode::deadline_exceeded)
              << e.what();
          refused++;
        }
      }
      for (const auto& r : requests) EXPECT_TRUE(r->wait(60s));
    });
  for (auto& t : threads) t.join();
  EXPECT_TRUE(eventually([&] { return answers + refused == kThreads * kEach; }));
  EXPECT_TRUE(eventually([&] { return runner.statistics().in_flight == 0; }));
  const RunnerStatistics s = runner.statistics();
  EXPECT_EQ(s.completed + s.cancelled + s.timed_out, s.submitted);
}

}  // namespace
}  // namespace poprt::runtime
