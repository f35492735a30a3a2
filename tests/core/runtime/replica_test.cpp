// What a runner does with many requests: batches, timeouts, replicas, errors, overlap.
#include "runtime/replica.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "runtime/model_runner.h"
#include "support/function_device.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using testing::add_one;
using testing::add_one_model;
using testing::FunctionDevice;
using testing::Gate;

RunnerConfig on(std::shared_ptr<device::Device> device) {
  RunnerConfig config;
  config.session.device = std::move(device);
  return config;
}

// One request's memory, with guards on both sides of the output.
struct Rows {
  explicit Rows(size_t n, float first = 0) : x(n), y(n + 2, -7.f) {
    for (size_t i = 0; i < n; i++) x[i] = first + static_cast<float>(i);
    in[0] = {"x", 0, x.data(), n * 4};
    out[0] = {"y", 0, y.data() + 1, n * 4};
  }
  bool right() const {
    for (size_t i = 0; i < x.size(); i++)
      if (y[i + 1] != x[i] + 1) return false;
    return y.front() == -7.f && y.back() == -7.f;
  }
  std::vector<float> x, y;
  InputBinding in[1];
  OutputBinding out[1];
};

template <class Condition>
bool eventually(Condition&& condition) {
  for (int i = 0; i < 60000; i++) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

ErrorCode code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

// --- dynamic batch sizes

TEST(DynamicBatch, TakesEverySizeUpToThreeBatches) {
  constexpr size_t kBatch = 4, kRow = 2;
  for (const bool overlap : {false, true}) {
    RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(kBatch * kRow)));
    config.batching_dim = 0;
    config.timeout = 300us;
    config.overlap_io = overlap;
    ModelRunner runner(add_one_model({kBatch, kRow}), config);
    for (size_t n = 1; n <= 3 * kBatch; n++) {
      Rows async(n * kRow, 10), sync(n * kRow, 20);
      const RequestPtr r = runner.execute_async(async.in, async.out);
      runner.execute(sync.in, sync.out);
      r->wait();
      r->check();
      EXPECT_TRUE(async.right()) << n;
      EXPECT_TRUE(sync.right()) << n;
    }
    EXPECT_EQ(runner.statistics().rows, 2 * 78u);
  }
}

TEST(DynamicBatch, AnyDimensionMayBeTheBatch) {
  // [2, 3, 2], rows along dimension 1.
  for (const size_t n : {1u, 2u, 3u, 5u, 7u}) {
    RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(12)));
    config.batching_dim = 1;
    config.timeout = 1us;
    ModelRunner runner(add_one_model({2, 3, 2}), config);
    Rows k(2 * n * 2);
    runner.execute(k.in, k.out);
    EXPECT_TRUE(k.right()) << n;
  }
}

TEST(DynamicBatch, MergesPartialRequestsIntoOneRun) {
  std::atomic<int> runs{0};
  const auto plus = add_one(4);
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
        runs++;
        plus(in, out);
      }));
  config.batching_dim = 0;
  config.timeout = 0ns;  // never padded: only a merge can answer
  ModelRunner runner(add_one_model({4}), config);
  Rows a(1, 1), b(2, 2), c(1, 3);
  const RequestPtr ra = runner.execute_async(a.in, a.out), rb = runner.execute_async(b.in, b.out);
  EXPECT_FALSE(ra->done());
  const RequestPtr rc = runner.execute_async(c.in, c.out);
  for (const RequestPtr* r : {&ra, &rb, &rc}) {
    ASSERT_TRUE((*r)->wait(60s));
    (*r)->check();
  }
  EXPECT_TRUE(a.right() && b.right() && c.right());
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(runner.statistics().padded_rows, 0u);

  // 3 + 3 of 4: the second is divided between two runs, and needs 2 more rows.
  Rows d(3, 4), e(3, 5), f(2, 6);
  const RequestPtr rd = runner.execute_async(d.in, d.out), re = runner.execute_async(e.in, e.out);
  ASSERT_TRUE(rd->wait(60s));
  EXPECT_TRUE(d.right());
  EXPECT_FALSE(re->done());
  const RequestPtr rf = runner.execute_async(f.in, f.out);
  ASSERT_TRUE(re->wait(60s));
  ASSERT_TRUE(rf->wait(60s));
  EXPECT_TRUE(e.right() && f.right());
  EXPECT_EQ(runs, 3);
}

TEST(DynamicBatch, WholeBatchesDoNotWaitForTheRest) {
  ManualClock clock;
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
  config.batching_dim = 0;
  config.clock = Clock(clock);
  ModelRunner runner(add_one_model({4}), config);
  Rows k(9);
  const RequestPtr r = runner.execute_async(k.in, k.out);
  // Two runs at once, the ninth row waits for a clock that stands still.
  ASSERT_TRUE(eventually([&] { return runner.statistics().batches == 2; }));
  ASSERT_TRUE(eventually([&] { return clock.waiting() == 1; }));
  EXPECT_FALSE(r->done());
  for (size_t i = 0; i < 8; i++) EXPECT_EQ(k.y[i + 1], k.x[i] + 1);
  clock.advance(10ms);
  ASSERT_TRUE(r->wait(60s));
  EXPECT_TRUE(k.right());
  EXPECT_EQ(runner.statistics().padded_rows, 3u);
}

// --- when a batch is padded (RuntimeConfig timeoutNS and its kin), on a clock that the test turns

struct Timed {
  explicit Timed(const std::function<void(RunnerConfig&)>& change = {}, Shape shape = {4},
                 uint32_t per_step = 1) {
    const auto plus = add_one(static_cast<size_t>(element_count(shape)));
    RunnerConfig config = on(std::make_shared<FunctionDevice>(
        [plus](const void* const* in, void* const* out) { plus(in, out); }));
    config.batching_dim = 0;
    config.clock = Clock(clock);
    config.batches_per_step = per_step;
    if (change) change(config);
    runner = std::make_unique<ModelRunner>(add_one_model(shape), config);
  }
  ~Timed() { runner->stop(); }  // the clock goes after its last user
  // Submits n rows and returns when the runner waits on the clock again.
  RequestPtr submit(size_t n, bool timed = true) {
    memory.push_back(std::make_unique<Rows>(n, static_cast<float>(10 * memory.size())));
    const uint64_t before = runner->statistics().submitted;
    RequestPtr r = runner->execute_async(memory.back()->in, memory.back()->out);
    EXPECT_EQ(runner->statistics().submitted, before + 1);
    settle(timed);
    return r;
  }
  // The runner has looked at everything and waits for a time.
  void settle(bool timed) {
    if (!timed) return std::this_thread::sleep_for(20ms);
    for (int i = 0; i < 3; i++) {  // it may be about to wake
      EXPECT_TRUE(eventually([&] { return clock.waiting() == 1; }));
      std::this_thread::sleep_for(5ms);
    }
  }
  ManualClock clock;
  std::vector<std::unique_ptr<Rows>> memory;
  std::unique_ptr<ModelRunner> runner;
};

TEST(Timeouts, ABatchIsPaddedAfterTenMillisecondsWithoutNewRows) {
  Timed t;
  const RequestPtr a = t.submit(1);
  t.clock.advance(9ms);
  t.settle(true);
  EXPECT_FALSE(a->done());
  const RequestPtr b = t.submit(1);  // begins the wait anew
  t.clock.advance(9ms);
  t.settle(true);
  EXPECT_FALSE(a->done());
  t.clock.advance(1ms);
  ASSERT_TRUE(a->wait(60s));
  ASSERT_TRUE(b->wait(60s));
  EXPECT_EQ(t.runner->statistics().steps, 1u);
  EXPECT_EQ(t.runner->statistics().padded_rows, 2u);
  EXPECT_TRUE(t.memory[0]->right() && t.memory[1]->right());
}

TEST(Timeouts, ZeroWaitsForEver) {
  Timed t([](RunnerConfig& c) { c.timeout = 0ns; });
  const RequestPtr a = t.submit(3, false);
  EXPECT_EQ(t.clock.waiting(), 0);
  t.clock.advance(24h);
  t.settle(false);
  EXPECT_FALSE(a->done());
  const RequestPtr b = t.submit(1, false);
  EXPECT_TRUE(a->wait(60s) && b->wait(60s));
}

TEST(Timeouts, BatchSizeTimeoutCountsFromTheFirstRow) {
  for (const bool enabled : {true, false}) {
    Timed t([&](RunnerConfig& c) {
      c.is_batch_size_timeout_enabled = enabled;
      c.batch_size_timeout = 15ms;
    });
    const RequestPtr a = t.submit(1);
    t.clock.advance(8ms);
    const RequestPtr b = t.submit(1);
    t.clock.advance(7ms);  // 15 since the first, 7 since the second
    if (enabled) {
      EXPECT_TRUE(a->wait(60s) && b->wait(60s));
    } else {
      t.settle(true);
      EXPECT_FALSE(a->done());
    }
  }
}

TEST(Timeouts, DataParallelTimeoutSendsCompleteBatchesWithoutTheOthers) {
  for (const bool enabled : {true, false}) {
    Timed t(
        [&](RunnerConfig& c) {
          c.timeout = 0ns;
          c.is_batch_size_timeout_enabled = enabled;
          c.data_parallel_timeout = 5ms;
        },
        {4}, 3);
    const RequestPtr a = t.submit(2, false);
    t.clock.advance(1s);  // no batch is complete yet
    t.settle(false);
    EXPECT_FALSE(a->done());
    const RequestPtr b = t.submit(2, enabled);
    t.clock.advance(5ms);
    if (enabled) {
      EXPECT_TRUE(a->wait(60s) && b->wait(60s));
      EXPECT_EQ(t.runner->statistics().batches, 1u);
    } else {
      t.settle(false);
      EXPECT_FALSE(a->done());
    }
  }
}

TEST(Timeouts, FlushOnWaitingOutputsPadsOnlyForSomebodyWhoWaits) {
  Timed t([](RunnerConfig& c) { c.flush_on_waiting_outputs = true; });
  const RequestPtr a = t.submit(1, false);
  t.clock.advance(1s);
  t.settle(false);
  EXPECT_FALSE(a->done());
  EXPECT_TRUE(a->wait(60s));  // now somebody does
  EXPECT_TRUE(t.memory[0]->right());

  // A callback waits as well.
  std::atomic<int> calls{0};
  Rows k(1);
  t.runner->execute_async(
      k.in, k.out,
      {[](void* c, ErrorCode) noexcept { (*static_cast<std::atomic<int>*>(c))++; }, &calls});
  t.settle(true);
  t.clock.advance(10ms);
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
}

TEST(Timeouts, FlushByNameGivesThePaddingRows) {
  std::vector<float> padding{100, 200, 300, 400}, results(4, -1.f);
  Timed t([&](RunnerConfig& c) {
    c.flush_by_name.inputs = {{"x", {padding.data(), 16}}};
    c.flush_by_name.outputs = {{"y", {results.data(), 16}}};
  });
  const RequestPtr a = t.submit(2);
  t.clock.advance(10ms);
  ASSERT_TRUE(a->wait(60s));
  EXPECT_TRUE(t.memory[0]->right());
  EXPECT_EQ(results, (std::vector<float>{-1, -1, 301, 401}));
}

// --- batches per step, ring, replication

TEST(BatchesPerStep, AStepWaitsForAllItsBatches) {
  ManualClock clock;
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(2)));
  config.clock = Clock(clock);
  const auto model = add_one_model({2});
  model->batches_per_step = 3;  // as compiled
  ModelRunner runner(model, config);
  Rows a(2, 1), b(4, 2), c(2, 3);
  const RequestPtr ra = runner.execute_async(a.in, a.out);
  EXPECT_FALSE(ra->wait(20ms));
  const RequestPtr rb = runner.execute_async(b.in, b.out);
  ASSERT_TRUE(ra->wait(60s) && rb->wait(60s));
  EXPECT_EQ(runner.statistics().steps, 1u);
  EXPECT_EQ(runner.statistics().batches, 3u);
  // One batch alone goes after the timeout, with two dummies that need not run.
  const RequestPtr rc = runner.execute_async(c.in, c.out);
  ASSERT_TRUE(eventually([&] { return clock.waiting() == 1; }));
  clock.advance(10ms);
  ASSERT_TRUE(rc->wait(60s));
  EXPECT_TRUE(a.right() && b.right() && c.right());
  EXPECT_EQ(runner.statistics().batches, 4u);
}

TEST(RingBufferMultiplier, BoundsRequestsInFlight) {
  Gate gate;
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([&](const void* const*, void* const*) { gate.wait(); }));
  config.batching_dim = 0;
  config.ring_buffer_size_multiplier = 3;
  {
    ModelRunner runner(add_one_model({50}), config);
    EXPECT_EQ(runner.statistics().queue_capacity, 150u);  // 3 x the batch
  }
  config.queue_depth = 5;  // ours comes first
  ModelRunner runner(add_one_model({1}), config);
  Rows k(1);
  std::atomic<int> submitted{0};
  std::vector<RequestPtr> requests(8);
  std::thread client([&] {
    for (auto& r : requests) {
      r = runner.execute_async(k.in, k.out);
      submitted++;
    }
  });
  ASSERT_TRUE(eventually([&] { return submitted == 5; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(submitted, 5);  // the sixth is blocked
  gate.open();
  client.join();
  for (const auto& r : requests) EXPECT_TRUE(r->wait(60s));
}

TEST(Replication, SpreadsRequestsOverDevices) {
  Gate gate;
  std::atomic<int> entered{0};
  std::vector<std::shared_ptr<FunctionDevice>> devices;
  RunnerConfig config;
  config.replication_factor = 3;
  const auto plus = add_one(4);
  for (int i = 0; i < 3; i++) {
    devices.push_back(std::make_shared<FunctionDevice>(
        [&, plus](const void* const* in, void* const* out) {
          entered++;
          gate.wait();
          plus(in, out);
        },
        i));
    config.replica_id_to_device[i] = devices.back();
  }
  ModelRunner runner(add_one_model({4}), config);
  EXPECT_EQ(runner.replicas(), 3u);
  std::vector<std::unique_ptr<Rows>> memory;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 6; i++) {
    memory.push_back(std::make_unique<Rows>(4, static_cast<float>(i)));
    requests.push_back(runner.execute_async(memory.back()->in, memory.back()->out));
  }
  EXPECT_TRUE(eventually([&] { return entered == 3; }));  // all three at the same time
  gate.open();
  for (size_t i = 0; i < 6; i++) {
    ASSERT_TRUE(requests[i]->wait(60s));
    EXPECT_TRUE(memory[i]->right());
  }
  for (size_t r = 0; r < 3; r++) EXPECT_EQ(runner.statistics(r).completed, 2u) << r;
  EXPECT_THROW(runner.statistics(3), Error);
}

TEST(Replication, PinsReplicasToDevices) {
  const auto plus = add_one(4);
  std::atomic<int> a_runs{0}, b_runs{0};
  const auto counted = [&](std::atomic<int>& n) {
    return std::make_shared<FunctionDevice>([&n, plus](const void* const* in, void* const* out) {
      n++;
      plus(in, out);
    });
  };
  RunnerConfig config;
  config.replication_factor = 2;
  config.replica_id_to_device = {{0, counted(a_runs)}, {1, counted(b_runs)}};
  ModelRunner runner(add_one_model({4}), config);
  for (int i = 0; i < 10; i++) {
    Rows k(4);
    runner.execute(k.in, k.out);
    EXPECT_TRUE(k.right());
  }
  EXPECT_EQ(a_runs + b_runs, 10);
  EXPECT_EQ(static_cast<uint64_t>(a_runs), runner.statistics(0).batches);
  config.replica_id_to_device = {{2, nullptr}};
  EXPECT_EQ(code_of([&] { ModelRunner(add_one_model({4}), config); }), ErrorCode::not_found);
}

TEST(Replication, CompiledInReplicasGetTheirSlice) {
  std::vector<std::pair<int, float>> seen;
  RunnerConfig config;
  const auto plus = add_one(2);
  for (int i = 0; i < 3; i++)
    config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(
        [&seen, i, plus](const void* const* in, void* const* out) {
          seen.emplace_back(i, *static_cast<const float*>(in[0]));
          plus(in, out);
        },
        i);
  const auto model = add_one_model({2});
  model->replication_factor = 3;
  ModelRunner runner(model, config);
  EXPECT_EQ(runner.replicas(), 1u);
  EXPECT_EQ(runner.execute_inputs()[0].anchor.shape, (Shape{3, 2}));
  EXPECT_EQ(runner.execute_inputs()[0].size_in_bytes, 24u);
  Rows k(6);
  runner.execute(k.in, k.out);
  EXPECT_TRUE(k.right());
  EXPECT_EQ(seen, (std::vector<std::pair<int, float>>{{0, 0.f}, {1, 2.f}, {2, 4.f}}));
  Rows twice(12), wrong(8);
  const RequestPtr r = runner.execute_async(twice.in, twice.out);
  ASSERT_TRUE(r->wait(60s));
  EXPECT_TRUE(twice.right());
  EXPECT_EQ(code_of([&] { runner.execute(wrong.in, wrong.out); }), ErrorCode::invalid_argument);
}

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

// --- cancellation, timeouts of requests, the end

struct Blocked {  // a runner whose first run waits for the gate
  explicit Blocked(bool overlap = false, size_t batch = 1) {
    RunnerConfig config =
        on(std::make_shared<FunctionDevice>([this](const void* const*, void* const*) {
          runs++;
          gate.wait();
        }));
    config.overlap_io = overlap;
    if (batch > 1) config.batching_dim = 0;
    runner = std::make_unique<ModelRunner>(add_one_model({static_cast<int64_t>(batch)}), config);
  }
  Gate gate;
  std::atomic<int> runs{0};
  std::unique_ptr<ModelRunner> runner;
};

struct Calls {
  std::atomic<int> n{0}, code{-1};
  static void call(void* c, ErrorCode code) noexcept {
    auto& self = *static_cast<Calls*>(c);
    self.code = static_cast<int>(code);
    self.n++;
  }
};

TEST(Cancellation, ARequestThatWaitsIsCancelledOnce) {
  Blocked b;
  Rows x(1), y(1);
  Calls calls;
  const RequestPtr running = b.runner->execute_async(x.in, x.out);
  ASSERT_TRUE(eventually([&] { return b.runs == 1; }));
  const RequestPtr waiting = b.runner->execute_async(y.in, y.out, {Calls::call, &calls});
  EXPECT_FALSE(running->cancel());
  EXPECT_TRUE(waiting->cancel());
  EXPECT_FALSE(waiting->cancel());
  EXPECT_TRUE(waiting->done());
  EXPECT_EQ(calls.n, 1);
  EXPECT_EQ(code_of([&] { waiting->check(); }), ErrorCode::cancelled);
  b.gate.open();
  EXPECT_TRUE(running->wait(60s));
  b.runner->stop();
  EXPECT_EQ(b.runs, 1);
  EXPECT_EQ(calls.n, 1);
  EXPECT_EQ(b.runner->statistics().cancelled, 1u);
  EXPECT_EQ(b.runner->statistics().in_flight, 0u);
}

TEST(Cancellation, ARequestLeavesAnOpenBatch) {
  const auto plus = add_one(4);
  RunnerConfig config = on(std::make_shared<FunctionDevice>(plus));
  config.batching_dim = 0;
  config.timeout = 0ns;
  ModelRunner runner(add_one_model({4}), config);
  Rows a(2, 1), b(2, 2), c(2, 3);
  const RequestPtr ra = runner.execute_async(a.in, a.out);
  EXPECT_TRUE(ra->cancel());
  const RequestPtr rb = runner.execute_async(b.in, b.out);
  EXPECT_FALSE(rb->wait(20ms));  // a's rows do not count
  const RequestPtr rc = runner.execute_async(c.in, c.out);
  ASSERT_TRUE(rb->wait(60s) && rc->wait(60s));
  EXPECT_TRUE(b.right() && c.right());
  EXPECT_EQ(a.y, std::vector<float>(4, -7.f));
}

TEST(RequestTimeout, FailsWhatHasNotBegunInTime) {
  Blocked b;
  Rows x(1), y(1);
  const RequestPtr running = b.runner->execute_async(x.in, x.out, {}, {1ms});
  ASSERT_TRUE(eventually([&] { return b.runs == 1 || running->done(); }));
  const RequestPtr late = b.runner->execute_async(y.in, y.out, {}, {1ms});
  EXPECT_TRUE(late->wait(60s));  // although the device is busy
  EXPECT_EQ(late->code(), ErrorCode::deadline_exceeded);
  EXPECT_EQ(code_of([&] { late->check(); }), ErrorCode::deadline_exceeded);
  b.gate.open();
  EXPECT_TRUE(running->wait(60s));
  b.runner->stop();
  EXPECT_GE(b.runner->statistics().timed_out, 1u);
}

TEST(RequestTimeout, OpenBatchesAreWatched) {
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
  config.batching_dim = 0;
  config.timeout = 0ns;
  ModelRunner runner(add_one_model({4}), config);
  Rows k(1);
  Calls calls;
  runner.execute_async(k.in, k.out, {Calls::call, &calls}, {1ms});
  EXPECT_TRUE(eventually([&] { return calls.n == 1; }));  // nobody waits for it
  EXPECT_EQ(calls.code, static_cast<int>(ErrorCode::deadline_exceeded));
}

TEST(Destruction, FailsWhatWaitsAndFinishesWhatRuns) {
  for (const bool overlap : {false, true}) {
    Blocked b(overlap);
    std::vector<std::unique_ptr<Rows>> memory;
    std::vector<RequestPtr> requests;
    Calls calls;
    for (int i = 0; i < 20; i++) {
      memory.push_back(std::make_unique<Rows>(1));
      requests.push_back(
          b.runner->execute_async(memory.back()->in, memory.back()->out, {Calls::call, &calls}));
    }
    ASSERT_TRUE(eventually([&] { return b.runs == 1; }));
    b.runner.reset();  // does not wait for the run
    EXPECT_FALSE(requests[0]->done());
    b.gate.open();
    int ok = 0;
    for (const auto& r : requests) {
      ASSERT_TRUE(r->wait(60s));
      ok += r->code() == ErrorCode::ok;
      EXPECT_TRUE(r->code() == ErrorCode::ok || r->code() == ErrorCode::cancelled);
    }
    EXPECT_TRUE(eventually([&] { return calls.n == 20; }));
    EXPECT_EQ(requests[0]->code(), ErrorCode::ok);
    EXPECT_EQ(requests[19]->code(), ErrorCode::cancelled);
    EXPECT_EQ(ok, b.runs);
  }
}

TEST(Destruction, OfARunnerWithAnOpenBatch) {
  Blocked b(false, 4);
  Rows k(1);
  const RequestPtr r = b.runner->execute_async(k.in, k.out);
  b.gate.open();
  b.runner.reset();
  ASSERT_TRUE(r->wait(60s));
  EXPECT_TRUE(r->code() == ErrorCode::cancelled || r->code() == ErrorCode::ok);
}

TEST(Destruction, AfterFinishWhatWasSubmittedIsRun) {
  for (const bool overlap : {false, true}) {
    RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
    config.batching_dim = 0;
    config.timeout = 0ns;
    config.overlap_io = overlap;
    auto runner = std::make_unique<ModelRunner>(add_one_model({4}), config);
    Rows a(9, 1), b(2, 20);
    const RequestPtr ra = runner->execute_async(a.in, a.out),
                     rb = runner->execute_async(b.in, b.out);
    runner->finish();
    runner.reset();
    ASSERT_TRUE(ra->wait(60s) && rb->wait(60s));
    EXPECT_TRUE(a.right() && b.right());
  }
}

TEST(Destruction, FromACallback) {
  auto* const b = new Blocked;
  b->gate.open();
  Rows k(1);
  struct Context {
    Blocked* blocked;
    std::atomic<bool> gone{false};
  } context{b};
  b->runner->execute_async(k.in, k.out,
                           {[](void* c, ErrorCode) noexcept {
                              static_cast<Context*>(c)->blocked->runner.reset();
                              static_cast<Context*>(c)->gone = true;
                            },
                            &context});
  ASSERT_TRUE(eventually([&] { return context.gone.load(); }));
  std::this_thread::sleep_for(20ms);  // its thread lets go of the device, which names b
  delete b;
}

}  // namespace
}  // namespace poprt::runtime
