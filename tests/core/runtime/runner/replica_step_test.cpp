// Steps that run: copies during the computation, devices that fail.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/runtime/runner/replica_support.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using namespace replica_test;

// --- overlapped I/O

TEST(OverlapIo, CopiesInAndOutWhileAnotherRequestComputes) {
  // Run 1 (from 0) ends only after request 2 was copied in, and request 0 copied out and answered;
  // both happen only after run 1 has begun. Without overlap this would time out.
  Gate second_begins, loaded, answered;
  std::atomic<int> runs{0};
  std::atomic<bool> in_time{true};
  const auto plus = add_one(4);
  ModelRunner* self = nullptr;
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
        if (runs++ == 1) {
          second_begins.open();
          in_time = answered.wait() && loaded.wait();
        }
        plus(in, out);
      }));
  config.overlap_io = true;
  config.flush_on_waiting_outputs = true;  // for tracepoints
  ModelRunner runner(add_one_model({4}), config);
  self = &runner;
  Rows a(4, 1), b(4, 2), c(4, 3);
  struct Context {
    Gate &begins, &answered;
  } context{second_begins, answered};
  const RequestPtr ra =
      runner.execute_async(a.in, a.out,
                           {[](void* p, ErrorCode) noexcept {  // on the thread that copies out
                              auto& k = *static_cast<Context*>(p);
                              k.begins.wait();
                              k.answered.open();
                            },
                            &context});
  const RequestPtr rb = runner.execute_async(b.in, b.out);
  ASSERT_TRUE(second_begins.wait());
  const RequestPtr rc = runner.execute_async(c.in, c.out);
  ASSERT_TRUE(eventually([&] { return self->statistics().steps_loaded == 3; }));
  loaded.open();
  ASSERT_TRUE(ra->wait(60s) && rb->wait(60s) && rc->wait(60s));
  EXPECT_TRUE(in_time);
  EXPECT_TRUE(a.right() && b.right() && c.right());
  ASSERT_TRUE(eventually([&] { return runner.tracepoints().size() == 3; }));
  const auto t = runner.tracepoints();
  EXPECT_GE(t[2].ns[Tracepoint::begun], t[1].ns[Tracepoint::compute_begin]);
  EXPECT_LE(t[2].ns[Tracepoint::loaded], t[1].ns[Tracepoint::compute_end]);
  EXPECT_LE(t[0].ns[Tracepoint::stored], t[1].ns[Tracepoint::compute_end]);
}

TEST(OverlapIo, StagesAsManyStepsAsTheRingHas) {
  Gate gate;
  const auto plus = add_one(4);
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
        gate.wait();
        plus(in, out);
      }));
  config.overlap_io = true;
  config.ring_buffer_size_multiplier = 3;
  config.queue_depth = 64;  // more than the ring
  ModelRunner runner(add_one_model({4}), config);
  std::vector<std::unique_ptr<Rows>> memory;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 20; i++) {
    memory.push_back(std::make_unique<Rows>(4, static_cast<float>(i)));
    requests.push_back(runner.execute_async(memory.back()->in, memory.back()->out));
  }
  ASSERT_TRUE(eventually([&] { return runner.statistics().steps_loaded == 4; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(runner.statistics().steps_loaded, 4u);  // one computes, three wait
  gate.open();
  for (size_t i = 0; i < 20; i++) {
    ASSERT_TRUE(requests[i]->wait(60s));
    EXPECT_TRUE(memory[i]->right());
  }
}

// --- device errors

TEST(DeviceErrors, MatrixOfClassActionAndAutoReset) {
  struct Row {
    DeviceError error;
    ErrorCode code;
    bool resets;
  };
  using C = DeviceErrorClass;
  using A = RecoveryAction;
  const Row rows[] = {
      {{C::application_runtime_error, A::none}, ErrorCode::aborted, true},
      {{C::recoverable_runtime_error, A::ipu_reset}, ErrorCode::unavailable, true},
      {{C::recoverable_runtime_error, A::link_reset}, ErrorCode::unavailable, false},
      {{C::recoverable_runtime_error, A::partition_reset}, ErrorCode::unavailable, false},
      {{C::recoverable_runtime_error, A::full_reset}, ErrorCode::unavailable, false},
      {{C::unrecoverable_runtime_error, A::none}, ErrorCode::internal, false},
      {{C::unknown_runtime_error, A::none}, ErrorCode::unknown, false},
      {{C::runtime_error, A::none}, ErrorCode::failed_precondition, false},
  };
  for (const Row& row : rows)
    for (const bool auto_reset : {true, false})
      for (const bool async : {true, false})
        for (const bool overlap : {true, false}) {
          const auto device = std::make_shared<FunctionDevice>(add_one(4));
          RunnerConfig config = on(device);
          config.auto_reset = auto_reset;
          config.overlap_io = overlap;
          config.faults = std::make_shared<FaultInjector>();
          config.faults->add({row.error, 0ns, 2, 1, -1});  // the second run
          ModelRunner runner(add_one_model({4}), config);
          std::string message;
          const auto run = [&](Rows& k) {
            try {
              if (async) {
                const RequestPtr r = runner.execute_async(k.in, k.out);
                r->wait();
                r->check();
              } else {
                runner.execute(k.in, k.out);
              }
            } catch (const Error& e) {
              message = e.what();
              return e.code();
            }
            return ErrorCode::ok;
          };
          Rows first(4), second(4), third(4), fourth(4);
          const std::string what = row.error.message(0, auto_reset);
          EXPECT_EQ(run(first), ErrorCode::ok) << what;
          EXPECT_EQ(run(second), row.code) << what;
          EXPECT_EQ(message, what);
          EXPECT_NE(what.find(device_error_name(row.error.error)), std::string::npos);
          EXPECT_EQ(second.y, std::vector<float>(6, -7.f));  // untouched
          const bool works = auto_reset && row.resets;
          EXPECT_EQ(device->loads, 1) << what;  // before the next inference, not at once
          EXPECT_EQ(run(third), works ? ErrorCode::ok : row.code) << what;
          EXPECT_EQ(run(fourth), works ? ErrorCode::ok : row.code) << what;
          EXPECT_EQ(device->loads, works ? 2 : 1) << what;
          EXPECT_EQ(runner.statistics().resets, works ? 1u : 0u);
          EXPECT_EQ(runner.statistics().device_errors, 1u);
          if (works) EXPECT_TRUE(third.right() && fourth.right());
        }
}

TEST(DeviceErrors, AllQueuedRequestsGetTheSameError) {
  for (const bool overlap : {false, true}) {
    Gate gate;
    std::atomic<int> runs{0};
    const auto plus = add_one(4);
    RunnerConfig config =
        on(std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
          runs++;
          gate.wait();
          plus(in, out);
        }));
    config.auto_reset = true;
    config.overlap_io = overlap;
    config.faults = std::make_shared<FaultInjector>("application_runtime_error@2");
    ModelRunner runner(add_one_model({4}), config);
    std::vector<std::unique_ptr<Rows>> memory;
    std::vector<RequestPtr> requests;
    for (int i = 0; i < 10; i++) {
      memory.push_back(std::make_unique<Rows>(4, static_cast<float>(i)));
      requests.push_back(runner.execute_async(memory.back()->in, memory.back()->out));
    }
    ASSERT_TRUE(eventually([&] { return runs == 1; }));
    gate.open();
    for (const auto& r : requests) ASSERT_TRUE(r->wait(60s));
    EXPECT_EQ(requests[0]->code(), ErrorCode::ok);
    for (size_t i = 1; i < 10; i++) {
      EXPECT_EQ(requests[i]->code(), ErrorCode::aborted);
      EXPECT_EQ(requests[i]->failure(), requests[1]->failure());  // the same object
    }
    Rows after(4);
    const RequestPtr r = runner.execute_async(after.in, after.out);
    ASSERT_TRUE(r->wait(60s));
    EXPECT_TRUE(after.right());
    EXPECT_EQ(runner.statistics().failed, 9u);
  }
}

// A caller may use the memory of a failed request again, whatever steps it had.
TEST(DeviceErrors, AFailedRequestIsDoneWhenItsLastStepIs) {
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
  config.batching_dim = 0;
  config.timeout = 0ns;
  config.overlap_io = true;
  config.auto_reset = true;
  config.faults = std::make_shared<FaultInjector>();
  config.faults->add_random(1, 200'000, {DeviceErrorClass::application_runtime_error, {}});
  ModelRunner runner(add_one_model({4}), config);
  int failed = 0;
  for (int i = 0; i < 300; i++) {
    Rows k(4 * (1 + i % 5), static_cast<float>(i));
    const RequestPtr r = runner.execute_async(k.in, k.out);
    ASSERT_TRUE(r->wait(60s));
    const RunnerStatistics s = runner.statistics();
    EXPECT_EQ(s.in_flight, 0u);
    EXPECT_EQ(s.failed + s.completed, static_cast<uint64_t>(i + 1));
    failed += r->code() != ErrorCode::ok;
    if (r->code() == ErrorCode::ok) EXPECT_TRUE(k.right());
    const std::vector<float> y = k.y;
    for (float& x : k.x) x = -1;  // a race if a step still reads it
    EXPECT_EQ(k.y, y);
  }
  EXPECT_GT(failed, 0);
}

// Rows that wait for a batch fail with the device although nothing arrives that would wake it.
TEST(DeviceErrors, ReachTheRestOfARequestThatWaitsForABatch) {
  for (const bool overlap : {false, true}) {
    RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
    config.batching_dim = 0;
    config.timeout = 0ns;  // never padded
    config.overlap_io = overlap;
    config.faults = std::make_shared<FaultInjector>("application_runtime_error@1");
    ModelRunner runner(add_one_model({4}), config);
    Rows k(6);
    const RequestPtr r = runner.execute_async(k.in, k.out);
    ASSERT_TRUE(r->wait(60s));
    EXPECT_EQ(r->code(), ErrorCode::aborted);
  }
}

TEST(DeviceErrors, OtherReplicasGoOn) {
  RunnerConfig config;
  config.replication_factor = 2;
  for (int i = 0; i < 2; i++)
    config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(add_one(4), i);
  config.faults = std::make_shared<FaultInjector>("unknown_runtime_error/1");
  ModelRunner runner(add_one_model({4}), config);
  int failed = 0;
  for (int i = 0; i < 20; i++) {
    Rows k(4);
    const RequestPtr r = runner.execute_async(k.in, k.out);
    r->wait();
    failed += r->code() != ErrorCode::ok;
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(runner.statistics(0).completed, 19u);
}

TEST(DeviceErrors, ASlowDeviceIsOnlySlow) {
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
  config.faults = std::make_shared<FaultInjector>("slow:2000000*3");
  ModelRunner runner(add_one_model({4}), config);
  Rows k(4);
  runner.execute(k.in, k.out);
  EXPECT_TRUE(k.right());
  EXPECT_GE(runner.statistics().latency.max_ns, 2000000u);
}

TEST(DeviceErrors, ReadsFaultsFromTheEnvironment) {
  ASSERT_EQ(setenv("POPRT_INJECT_FAULTS", "recoverable_runtime_error:FULL_RESET@1", 1), 0);
  ModelRunner runner(add_one_model({4}), on(std::make_shared<FunctionDevice>(add_one(4))));
  unsetenv("POPRT_INJECT_FAULTS");
  Rows k(4);
  EXPECT_EQ(code_of([&] { runner.execute(k.in, k.out); }), ErrorCode::unavailable);
}

}  // namespace
}  // namespace poprt::runtime
