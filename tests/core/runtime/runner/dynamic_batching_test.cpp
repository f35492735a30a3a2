// Steps of several requests: batches of any size, timeouts, flushes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/runtime/runner/replica_support.h"
#include "program/batch_rows.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using namespace replica_test;

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

// The rows of an output are written while later rows of the request wait for their step.
TEST(DynamicBatch, OutputsMayBeInTheMemoryOfInputs) {
  constexpr size_t kBatch = 4;
  for (const bool overlap : {false, true}) {
    RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(kBatch)));
    config.batching_dim = 0;
    config.timeout = 300us;
    config.overlap_io = overlap;
    ModelRunner runner(add_one_model({kBatch}), config);
    for (size_t n = 1; n <= 3 * kBatch; n++)
      for (const size_t at : {0, 1, 2}) {
        std::vector<float> room(n + 2);
        std::iota(room.begin(), room.end(), 9.f);  // the input begins with 10
        const InputBinding in[] = {{{}, 0, room.data() + 1, n * 4}};
        const OutputBinding out[] = {{{}, 0, room.data() + at, n * 4}};
        runner.execute(in, out);
        for (size_t i = 0; i < n; i++) EXPECT_EQ(room[at + i], static_cast<float>(11 + i)) << n;
      }
  }
}

// A row of 13 makes the run fail, as an index outside its tensor does. The other requests of the
// batch get their results.
TEST(DynamicBatch, ARequestThatFailsItsRunDoesNotFailOthers) {
  constexpr size_t kBatch = 6;
  for (const bool overlap : {false, true}) {
    std::optional<Error> failure;
    const auto add = add_one(kBatch);
    RunnerConfig config = on(std::make_shared<FunctionDevice>(
        [&](const void* const* in, void* const* out) {
          add(in, out);
          for (size_t i = 0; i < kBatch; i++)
            if (static_cast<const float*>(in[0])[i] == 13)
              failure = Error(ErrorCode::out_of_range, fmt::format("index 13 at place {}", i));
        },
        0, [&] { return std::exchange(failure, std::nullopt); }));
    config.batching_dim = 0;
    config.timeout = 1min;
    config.overlap_io = overlap;
    ModelRunner runner(add_one_model({kBatch}), config);
    for (int repeat = 0; repeat < 3; repeat++) {
      Rows first(2, 1), bad(1, 13), last(2, 5), wide(8, 12);  // 12, 13, ... over two batches
      std::vector<RequestPtr> requests;
      for (Rows* r : {&first, &bad, &last}) requests.push_back(runner.execute_async(r->in, r->out));
      requests.push_back(runner.execute_async(wide.in, wide.out));
      Rows rest(5, 30);
      requests.push_back(runner.execute_async(rest.in, rest.out));
      for (const RequestPtr& r : requests) r->wait();
      EXPECT_EQ(code_of([&] { requests[0]->check(); }), ErrorCode::ok);
      EXPECT_EQ(code_of([&] { requests[1]->check(); }), ErrorCode::out_of_range);
      EXPECT_EQ(code_of([&] { requests[2]->check(); }), ErrorCode::ok);
      EXPECT_EQ(code_of([&] { requests[3]->check(); }), ErrorCode::out_of_range);
      EXPECT_EQ(code_of([&] { requests[4]->check(); }), ErrorCode::ok);
      EXPECT_TRUE(first.right() && last.right() && rest.right());
      // The place is that in the request, not in the batch.
      const auto message_of_request = [](const RequestPtr& r) {
        try {
          r->check();
        } catch (const Error& e) {
          return e.message();
        }
        return std::string();
      };
      EXPECT_EQ(message_of_request(requests[1]), "index 13 at place 0");
      EXPECT_EQ(message_of_request(requests[3]), "index 13 at place 1");
    }
  }
}

TEST(DynamicBatch, RunsAtOnceWhenTheDeviceIsIdleAndGathersWhileItIsBusy) {
  constexpr size_t kBatch = 4;
  for (const bool overlap : {false, true}) {
    std::atomic<bool> held{false};
    std::atomic<int> runs{0};
    const auto add = add_one(kBatch);
    RunnerConfig config =
        on(std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
          runs++;
          while (held) std::this_thread::yield();
          add(in, out);
        }));
    config.batching_dim = 0;
    config.timeout = 1h;
    config.dispatch_when_idle = true;
    config.overlap_io = overlap;
    ModelRunner runner(add_one_model({kBatch}), config);
    for (int i = 1; i <= 3; i++) {
      Rows alone(1, 7);
      runner.execute(alone.in, alone.out);
      EXPECT_TRUE(alone.right());
      EXPECT_EQ(runs, i);
    }
    held = true;
    Rows first(1, 1), second(1, 2), third(2, 3);
    std::vector<RequestPtr> requests{runner.execute_async(first.in, first.out)};
    while (runs < 4) std::this_thread::yield();
    requests.push_back(runner.execute_async(second.in, second.out));
    requests.push_back(runner.execute_async(third.in, third.out));
    held = false;
    for (const RequestPtr& r : requests) {
      r->wait();
      r->check();
    }
    EXPECT_TRUE(first.right() && second.right() && third.right());
    EXPECT_EQ(runs, 5) << "the second and the third request share a batch; overlap " << overlap;
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

// A request of several rows along an inner dimension is not contiguous, so its rows are copied,
// even if the model is for one row.
TEST(DynamicBatch, OneRowOfAnInnerDimensionMayBeTheBatch) {
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(32)));
  config.batching_dim = 1;
  ModelRunner runner(add_one_model({4, 1, 8}), config);
  for (const size_t n : {1u, 2u, 3u, 7u}) {
    Rows sync(n * 32), async(n * 32, 5);
    runner.execute(sync.in, sync.out);
    EXPECT_TRUE(sync.right()) << n;
    const RequestPtr r = runner.execute_async(async.in, async.out);
    r->wait();
    r->check();
    EXPECT_TRUE(async.right()) << n;
  }
}

// Returns the message of the error if a runner of a model with these noted rows cannot be created,
// else "".
std::string refusal(Shape shape, std::vector<program::BatchRows> noted, RunnerConfig config = {}) {
  config.session.device = std::make_shared<FunctionDevice>(add_one(element_count(shape)));
  config.batching_dim = 0;
  const auto model = add_one_model(std::move(shape));
  model->opaque[program::kBatchRows] = program::note_of_batch_rows(noted);
  try {
    ModelRunner runner(model, config);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    return e.message();
  }
  return {};
}

TEST(DynamicBatch, RowsThatChangeEachOthersResultsAreRefused) {
  const std::string why = refusal({4, 2}, {{0, 4, {"x"}, "Softmax node 's' combines places"}});
  EXPECT_NE(why.find("batching_dim 0: requests in one batch would change each other's results: "
                     "Softmax node 's' combines places"),
            std::string::npos)
      << why;
}

TEST(DynamicBatch, RowsThatAreProvenSeparateShareABatch) {
  EXPECT_EQ(refusal({4, 2}, {{1, 2, {"x"}, "mixed"}, {0, 4, {"x"}, ""}}), "");
}

TEST(DynamicBatch, ABatchOfOneRowNeedsNoProof) {
  EXPECT_EQ(refusal({1, 2}, {{0, 1, {"x"}, "mixed"}}), "");
}

TEST(DynamicBatch, ABatchOfAnotherSizeIsNotProven) {
  EXPECT_NE(refusal({4, 2}, {{0, 2, {"x"}, ""}}).find("states nothing about batches of 4"),
            std::string::npos);
}

TEST(DynamicBatch, AFrozenInputHasNoRows) {
  RunnerConfig config;
  const std::vector<float> frozen(8);
  config.frozen_inputs["b"] = {frozen.data(), 32};
  config.session.device = std::make_shared<FunctionDevice>([](auto, auto) {});
  config.batching_dim = 0;
  const auto model = test::anchors_only({{"x", DType::f32, {4, 2}}, {"b", DType::f32, {4, 2}}},
                                        {{"y", DType::f32, {4, 2}}});
  model->opaque[program::kBatchRows] = program::note_of_batch_rows({{0, 4, {"x", "b"}, ""}});
  EXPECT_EQ(code_of([&] { ModelRunner runner(model, config); }), ErrorCode::failed_precondition);
  model->opaque[program::kBatchRows] = program::note_of_batch_rows({{0, 4, {"x"}, ""}});
  EXPECT_EQ(code_of([&] { ModelRunner runner(model, config); }), ErrorCode::ok);
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

// If another request is cancelled, the rest of a request that has begun keeps its place.
TEST(DynamicBatch, ABatchThatLosesARequestTakesNoRowTwice) {
  std::atomic<int> runs{0};
  Gate gate;
  const auto plus = add_one(4);
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([&](const void* const* in, void* const* out) {
        if (++runs == 1) gate.wait();
        plus(in, out);
      }));
  config.batching_dim = 0;
  config.timeout = 0ns;  // never padded: only a merge can answer
  ModelRunner runner(add_one_model({4}), config);
  Rows a(2, 1), b(7, 10), c(1, 20);
  const RequestPtr ra = runner.execute_async(a.in, a.out);  // two places of a batch
  const RequestPtr rb = runner.execute_async(b.in, b.out);  // a batch, the other two, and one more
  ASSERT_TRUE(eventually([&] { return runs == 1; }));
  EXPECT_TRUE(ra->cancel());
  gate.open();
  const RequestPtr rc = runner.execute_async(c.in, c.out);
  ASSERT_TRUE(rb->wait(60s));
  ASSERT_TRUE(rc->wait(60s));
  EXPECT_TRUE(b.right() && c.right());
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(runner.statistics().rows, 8u);
}

TEST(DynamicBatch, WholeBatchesDoNotWaitForTheRest) {
  ManualClock clock;
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
  config.batching_dim = 0;
  config.clock = Clock(clock);
  ModelRunner runner(add_one_model({4}), config);
  Rows k(9);
  const RequestPtr r = runner.execute_async(k.in, k.out);
  // Two runs at once; the ninth row waits for a clock that does not advance.
  ASSERT_TRUE(eventually([&] { return runner.statistics().batches == 2; }));
  ASSERT_TRUE(eventually([&] { return clock.waiting() == 1; }));
  EXPECT_FALSE(r->done());
  for (size_t i = 0; i < 8; i++) EXPECT_EQ(k.y[i + 1], k.x[i] + 1);
  clock.advance(10ms);
  ASSERT_TRUE(r->wait(60s));
  EXPECT_TRUE(k.right());
  EXPECT_EQ(runner.statistics().padded_rows, 3u);
}

// --- when a batch is padded (RuntimeConfig timeoutNS and similar), on a clock of the test

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
  ~Timed() { runner->stop(); }  // before the clock that it uses is destroyed
  // Submits n rows and returns when the runner waits on the clock again.
  RequestPtr submit(size_t n, bool timed = true) {
    memory.push_back(std::make_unique<Rows>(n, static_cast<float>(10 * memory.size())));
    const uint64_t before = runner->statistics().submitted;
    RequestPtr r = runner->execute_async(memory.back()->in, memory.back()->out);
    EXPECT_EQ(runner->statistics().submitted, before + 1);
    settle(timed);
    return r;
  }
  // Waits until the runner has processed everything and waits for a point in time.
  void settle(bool timed) {
    if (!timed) return std::this_thread::sleep_for(20ms);
    for (int i = 0; i < 3; i++) {  // the runner may be about to wake
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

TEST(Timeouts, ADrainedRunnerPadsAtOnce) {
  Timed t([](RunnerConfig& c) { c.timeout = 0ns; });
  const RequestPtr a = t.submit(3, false);
  EXPECT_EQ(t.clock.waiting(), 0);
  EXPECT_FALSE(a->done());
  t.runner->drain();
  EXPECT_TRUE(a->wait(60s));
  EXPECT_TRUE(t.submit(1, false)->wait(60s)) << "later requests";
  EXPECT_EQ(t.runner->statistics().padded_rows, 4u);
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

TEST(Timeouts, DataParallelTimeoutCountsFromTheFirstCompleteBatch) {
  Timed t(
      [](RunnerConfig& c) {
        c.timeout = 0ns;
        c.is_batch_size_timeout_enabled = true;
        c.data_parallel_timeout = 5ms;
      },
      {4}, 3);
  const RequestPtr a = t.submit(4);
  EXPECT_FALSE(a->done());
  t.clock.advance(3ms);
  const RequestPtr b = t.submit(1);  // begins nothing anew
  t.clock.advance(1ms);
  t.settle(true);
  EXPECT_FALSE(a->done());
  t.clock.advance(1ms);
  EXPECT_TRUE(a->wait(60s) && b->wait(60s));
  EXPECT_EQ(t.runner->statistics().batches, 2u);
  EXPECT_EQ(t.runner->statistics().padded_rows, 3u);
}

TEST(Timeouts, WithoutAnyACompleteBatchWaitsForItsStep) {
  Timed t(
      [](RunnerConfig& c) {
        c.timeout = 0ns;
        c.is_batch_size_timeout_enabled = true;
      },
      {4}, 3);
  const RequestPtr a = t.submit(5, false);
  t.clock.advance(24h);
  t.settle(false);
  EXPECT_FALSE(a->done());
  const RequestPtr b = t.submit(7, false);
  EXPECT_TRUE(a->wait(60s) && b->wait(60s));
  EXPECT_EQ(t.runner->statistics().steps, 1u);
  EXPECT_EQ(t.runner->statistics().padded_rows, 0u);
  EXPECT_TRUE(t.memory[0]->right() && t.memory[1]->right());
}

TEST(Timeouts, FlushOnWaitingOutputsPadsOnlyWithAWaiter) {
  Timed t([](RunnerConfig& c) { c.flush_on_waiting_outputs = true; });
  const RequestPtr a = t.submit(1, false);
  t.clock.advance(1s);
  t.settle(false);
  EXPECT_FALSE(a->done());
  EXPECT_TRUE(a->wait(60s));  // now a caller waits
  EXPECT_TRUE(t.memory[0]->right());

  // A request with a callback counts as a caller that waits.
  std::atomic<int> calls{0};
  Rows k(1);
  t.runner->execute_async(
      k.in, k.out,
      {[](void* c, ErrorCode) noexcept { (*static_cast<std::atomic<int>*>(c))++; }, &calls});
  t.settle(true);
  t.clock.advance(10ms);
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
}

TEST(Timeouts, WithoutALimitFlushOnWaitingOutputsPadsAtOnce) {
  Timed t([](RunnerConfig& c) {
    c.flush_on_waiting_outputs = true;
    c.timeout = 0ns;
  });
  const RequestPtr a = t.submit(1, false), b = t.submit(2, false);
  EXPECT_FALSE(a->done() || b->done());
  EXPECT_TRUE(b->wait(60s) && a->wait(60s));
  EXPECT_TRUE(t.memory[0]->right() && t.memory[1]->right());
  EXPECT_EQ(t.runner->statistics().steps, 1u);
}

// The time of a batch begins with its first row that is still in it.
TEST(Timeouts, ARequestThatWasDroppedBeginsNoBatch) {
  Timed t([](RunnerConfig& c) {
    c.timeout = 0ns;
    c.is_batch_size_timeout_enabled = true;
    c.batch_size_timeout = 15ms;
  });
  RequestOptions options;
  options.timeout = 5ms;
  Rows late(1, 1);
  const RequestPtr a = t.runner->execute_async(late.in, late.out, {}, options);
  t.settle(true);
  t.clock.advance(3ms);
  const RequestPtr b = t.submit(1);
  t.clock.advance(2ms);
  ASSERT_TRUE(eventually([&] { return a->done(); }));
  EXPECT_EQ(a->code(), ErrorCode::deadline_exceeded);
  t.settle(true);
  t.clock.advance(10ms);  // 15 since the first request, 12 since the second
  t.settle(true);
  EXPECT_FALSE(b->done());
  t.clock.advance(3ms);
  EXPECT_TRUE(b->wait(60s));
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

// --- batches per step

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
  // A single batch runs after the timeout; the two missing batches need not run.
  const RequestPtr rc = runner.execute_async(c.in, c.out);
  ASSERT_TRUE(eventually([&] { return clock.waiting() == 1; }));
  clock.advance(10ms);
  ASSERT_TRUE(rc->wait(60s));
  EXPECT_TRUE(a.right() && b.right() && c.right());
  EXPECT_EQ(runner.statistics().batches, 4u);
}

TEST(BatchesPerStep, ACallThatWaitsForItsWholeBatchesDoesNotWaitForOthers) {
  for (const Shape& shape : {Shape{2}, Shape{2, 2}}) {
    ManualClock clock;  // does not advance
    const auto count = static_cast<size_t>(element_count(shape));
    RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(count)));
    config.clock = Clock(clock);
    const auto model = add_one_model(shape);
    model->batches_per_step = 3;
    ModelRunner runner(model, config);
    Rows a(count, 1), b(4 * count, 2);
    runner.execute(a.in, a.out);
    EXPECT_EQ(runner.statistics().steps, 1u);
    runner.execute(b.in, b.out);
    EXPECT_TRUE(a.right() && b.right());
    EXPECT_EQ(runner.statistics().batches, 5u);
    EXPECT_EQ(runner.statistics().steps, 3u);
  }
}

// Along an inner dimension several batches of a request are copied, by the runner's thread.
TEST(BatchesPerStep, ACallThatWaitsNeedNotBeContiguous) {
  ManualClock clock;
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
  config.clock = Clock(clock);
  config.batching_dim = 1;
  const auto model = add_one_model({2, 2});
  model->batches_per_step = 8;
  ModelRunner runner(model, config);
  Rows open(2, 7), k(12, 1);  // one row, which waits; six rows
  const RequestPtr waiting = runner.execute_async(open.in, open.out);
  runner.execute(k.in, k.out);
  EXPECT_TRUE(k.right());
  EXPECT_FALSE(waiting->done());
  EXPECT_EQ(runner.statistics().batches, 3u);
  ASSERT_TRUE(eventually([&] { return clock.waiting() == 1; }));
  clock.advance(10ms);
  ASSERT_TRUE(waiting->wait(60s));
  EXPECT_TRUE(open.right());
}

}  // namespace
}  // namespace poprt::runtime
