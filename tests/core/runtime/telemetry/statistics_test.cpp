#include "runtime/telemetry/statistics.h"

#include <gtest/gtest.h>

#include "runtime/runner/model_runner.h"
#include "support/function_device.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;

Tracepoint point(uint64_t n) {
  Tracepoint t;
  t.request = n;
  return t;
}

std::vector<uint64_t> numbers(const TraceBuffer& buffer) {
  std::vector<uint64_t> list;
  for (const Tracepoint& t : buffer.points()) list.push_back(t.request);
  return list;
}

TEST(TraceBuffer, KeepsTheLastOnesAndWraps) {
  TraceBuffer buffer(3);
  EXPECT_TRUE(numbers(buffer).empty());
  for (uint64_t i = 1; i <= 2; i++) buffer.record(point(i));
  EXPECT_EQ(numbers(buffer), (std::vector<uint64_t>{1, 2}));
  for (uint64_t i = 3; i <= 8; i++) buffer.record(point(i));
  EXPECT_EQ(numbers(buffer), (std::vector<uint64_t>{6, 7, 8}));
  EXPECT_EQ(buffer.recorded(), 8u);
}

TEST(TraceBuffer, ZeroKeepsAll) {
  TraceBuffer buffer(0);
  for (uint64_t i = 0; i < 5000; i++) buffer.record(point(i));
  EXPECT_EQ(buffer.points().size(), 5000u);
}

TEST(LatencyHistogram, CountsInPowersOfTwo) {
  Counters c;
  for (const int64_t ns : {1, 2, 3, 1000, 1024, 1 << 20}) c.latency(std::chrono::nanoseconds(ns));
  const LatencyHistogram h = c.snapshot().latency;
  EXPECT_EQ(h.count, 6u);
  EXPECT_EQ(h.counts[0], 1u);
  EXPECT_EQ(h.counts[1], 2u);
  EXPECT_EQ(h.counts[9], 1u);
  EXPECT_EQ(h.counts[10], 1u);
  EXPECT_EQ(h.max_ns, uint64_t{1} << 20);
  EXPECT_EQ(h.total_ns, 1u + 2 + 3 + 1000 + 1024 + (1 << 20));
  EXPECT_EQ(h.quantile_ns(0.5), 4u);
  EXPECT_EQ(h.quantile_ns(1.0), uint64_t{2} << 20);
  EXPECT_EQ(LatencyHistogram().quantile_ns(0.5), 0u);
}

TEST(TraceBuffer, AFullBufferIsInOrderBeforeAndAfterALoss) {
  TraceBuffer buffer(3);
  for (uint64_t i = 1; i <= 3; i++) buffer.record(point(i));
  EXPECT_EQ(numbers(buffer), (std::vector<uint64_t>{1, 2, 3}));
  buffer.record(point(4));
  EXPECT_EQ(numbers(buffer), (std::vector<uint64_t>{2, 3, 4}));
}

TEST(LatencyHistogram, AQuantileIsTheEndOfABucketThatHoldsSomething) {
  LatencyHistogram h;
  h.counts[3] = 1;
  h.counts[7] = 8;
  h.counts[9] = 1;
  h.count = 10;
  EXPECT_EQ(h.quantile_ns(0.0), uint64_t{2} << 3);
  EXPECT_EQ(h.quantile_ns(0.1), uint64_t{2} << 3);
  EXPECT_EQ(h.quantile_ns(0.2), uint64_t{2} << 7);
  EXPECT_EQ(h.quantile_ns(0.9), uint64_t{2} << 7);
  EXPECT_EQ(h.quantile_ns(0.99), uint64_t{2} << 9);  // of ten, nine are not 99 of 100
  EXPECT_EQ(h.quantile_ns(1.0), uint64_t{2} << 9);
}

TEST(LatencyHistogram, KeepsTheLongestAfterShorterTimes) {
  Counters c;
  for (const int64_t ns : {5, 100, 7, 99, 0, -3}) c.latency(std::chrono::nanoseconds(ns));
  const LatencyHistogram h = c.snapshot().latency;
  EXPECT_EQ(h.max_ns, 100u);
  EXPECT_EQ(h.counts[0], 2u);  // less than a nanosecond counts as one
  EXPECT_EQ(h.total_ns, 5u + 100 + 7 + 99 + 1 + 1);
}

TEST(LatencyHistogram, TheLastBucketHasAllThatAreLonger) {
  Counters c;
  for (const int64_t ns : {(int64_t{1} << 39) - 1, int64_t{1} << 39, int64_t{1} << 40, INT64_MAX})
    c.latency(std::chrono::nanoseconds(ns));
  const LatencyHistogram h = c.snapshot().latency;
  EXPECT_EQ(h.counts[38], 1u);
  EXPECT_EQ(h.counts[39], 3u);
  EXPECT_EQ(h.count, 4u);
  EXPECT_EQ(h.max_ns, static_cast<uint64_t>(INT64_MAX));
  EXPECT_EQ(h.quantile_ns(0.25), uint64_t{2} << 38);
  EXPECT_EQ(h.quantile_ns(0.26), uint64_t{2} << 39);
}

TEST(RunnerStatistics, EveryCounterHasASeparateField) {
  Counters c;
  uint64_t n = 1;
  for (Counters::Counter* counter :
       {&c.submitted, &c.completed, &c.failed, &c.cancelled, &c.timed_out, &c.rows, &c.padded_rows,
        &c.batches, &c.steps, &c.steps_loaded, &c.steps_stored, &c.device_errors, &c.resets})
    Counters::add(*counter, n++);
  Counters::add(c.resets);
  const RunnerStatistics s = c.snapshot();
  EXPECT_EQ((std::vector{s.submitted, s.completed, s.failed, s.cancelled, s.timed_out, s.rows,
                         s.padded_rows, s.batches, s.steps, s.steps_loaded, s.steps_stored,
                         s.device_errors, s.resets}),
            (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14}));
  EXPECT_EQ(s.in_flight + s.queue_capacity + s.latency.count, 0u);
}

// Every field has a unique number, so that a missing or misplaced one is noticed.
TEST(RunnerStatistics, TheSumOfTwoHasTheSumsOfAllFields) {
  const auto filled = [](uint64_t first, uint64_t max) {
    RunnerStatistics s;
    uint64_t n = first;
    for (auto* field : {&s.submitted, &s.completed, &s.failed, &s.cancelled, &s.timed_out, &s.rows,
                        &s.padded_rows, &s.batches, &s.steps, &s.steps_loaded, &s.steps_stored,
                        &s.device_errors, &s.resets, &s.in_flight, &s.queue_capacity})
      *field = n++;
    for (auto& count : s.latency.counts) count = n++;
    s.latency.count = n++;
    s.latency.total_ns = n++;
    s.latency.max_ns = max;
    return s;
  };
  for (const auto [a, b] : {std::pair<uint64_t, uint64_t>{5, 9}, {9, 5}}) {
    RunnerStatistics sum = filled(100, a);
    sum += filled(1000, b);
    EXPECT_EQ(sum.submitted, 1100u);
    EXPECT_EQ(sum.completed, 1102u);
    EXPECT_EQ(sum.failed, 1104u);
    EXPECT_EQ(sum.cancelled, 1106u);
    EXPECT_EQ(sum.timed_out, 1108u);
    EXPECT_EQ(sum.rows, 1110u);
    EXPECT_EQ(sum.padded_rows, 1112u);
    EXPECT_EQ(sum.batches, 1114u);
    EXPECT_EQ(sum.steps, 1116u);
    EXPECT_EQ(sum.steps_loaded, 1118u);
    EXPECT_EQ(sum.steps_stored, 1120u);
    EXPECT_EQ(sum.device_errors, 1122u);
    EXPECT_EQ(sum.resets, 1124u);
    EXPECT_EQ(sum.in_flight, 1126u);
    EXPECT_EQ(sum.queue_capacity, 1128u);
    for (size_t i = 0; i < LatencyHistogram::kBuckets; i++)
      EXPECT_EQ(sum.latency.counts[i], 1130 + 2 * i);
    EXPECT_EQ(sum.latency.count, 1130 + 2 * LatencyHistogram::kBuckets);
    EXPECT_EQ(sum.latency.total_ns, 1132 + 2 * LatencyHistogram::kBuckets);
    EXPECT_EQ(sum.latency.max_ns, 9u);
  }
}

struct Traced {
  explicit Traced(size_t buffer, bool flush = true) {
    RunnerConfig config;
    config.session.device = std::make_shared<test::FunctionDevice>(test::add_one(1));
    config.flush_on_waiting_outputs = flush;
    config.request_tracepoints_buffer_size = buffer;
    runner = std::make_unique<ModelRunner>(test::add_one_model({1}), config);
  }
  void run(int n, bool async) {
    const InputBinding in[] = {{"x", 0, &x, 4}};
    const OutputBinding out[] = {{"y", 0, &y, 4}};
    for (int i = 0; i < n; i++)
      if (async)
        runner->execute_async(in, out)->wait();
      else
        runner->execute(in, out);
  }
  float x = 1, y = 0;
  std::unique_ptr<ModelRunner> runner;
};

TEST(Tracepoints, OfARunnerWrapAtTheBufferSizeAndAreMonotonic) {
  Traced t(10);
  t.run(25, true);
  t.run(5, false);
  t.runner->stop();
  const auto points = t.runner->tracepoints();
  ASSERT_EQ(points.size(), 10u);
  int64_t before = 0;
  for (const Tracepoint& p : points) {
    EXPECT_GE(p.ns[0], before);
    for (size_t i = 1; i < Tracepoint::stages; i++) EXPECT_GE(p.ns[i], p.ns[i - 1]) << i;
    EXPECT_GT(p.ns[0], 0);
    EXPECT_EQ(p.rows, 1u);
    before = p.ns[0];
  }
}

// The events name their requests and the results of these.
TEST(Tracepoints, NameTheirRequestAndItsResult) {
  for (const bool async : {true, false}) {
    RunnerConfig config;
    config.session.device = std::make_shared<test::FunctionDevice>(test::add_one(2));
    config.flush_on_waiting_outputs = true;
    config.auto_reset = true;
    config.faults = std::make_shared<FaultInjector>("application_runtime_error@2");
    ModelRunner runner(test::add_one_model({2}), config);
    const float x[8] = {};
    float y[8];
    for (const uint64_t batches : {1, 2, 3}) {
      const InputBinding in[] = {{"x", 0, x, 8 * batches}};
      const OutputBinding out[] = {{"y", 0, y, 8 * batches}};
      if (async)
        runner.execute_async(in, out)->wait();
      else if (batches == 2)
        EXPECT_THROW(runner.execute(in, out), Error);
      else
        runner.execute(in, out);
    }
    runner.stop();
    const auto points = runner.tracepoints();
    std::vector<uint64_t> rows, sequence;
    std::vector<ErrorCode> codes;
    for (const Tracepoint& p : points) {
      rows.push_back(p.rows);
      sequence.push_back(p.request);
      codes.push_back(p.code);
      EXPECT_EQ(p.replica, 0);
    }
    using Codes = std::vector<ErrorCode>;
    if (async) {
      EXPECT_EQ(rows, (std::vector<uint64_t>{1, 2, 3}));
      EXPECT_EQ(codes, (Codes{ErrorCode::ok, ErrorCode::aborted, ErrorCode::ok}));
      ASSERT_EQ(sequence.size(), 3u);
      EXPECT_EQ(sequence[1], sequence[0] + 1);
      EXPECT_EQ(sequence[2], sequence[0] + 2);
    } else {
      EXPECT_EQ(rows, (std::vector<uint64_t>{1, 3})) << "of what succeeds";
      EXPECT_EQ(codes, (Codes{ErrorCode::ok, ErrorCode::ok}));
    }
  }
}

TEST(Tracepoints, AreRecordedOnlyWithFlushOnWaitingOutputs) {
  Traced t(10, false);
  t.run(5, true);
  EXPECT_TRUE(t.runner->tracepoints().empty());
}

TEST(Statistics, CountRequestsRowsAndBatches) {
  Traced t(10);
  t.run(20, true);
  t.run(10, false);
  t.runner->stop();
  const RunnerStatistics s = t.runner->statistics();
  EXPECT_EQ(s.submitted, 30u);
  EXPECT_EQ(s.completed, 30u);
  EXPECT_EQ(s.rows, 30u);
  EXPECT_EQ(s.batches, 30u);
  EXPECT_EQ(s.latency.count, 30u);
  EXPECT_EQ(s.in_flight, 0u);
  EXPECT_EQ(s.failed + s.cancelled + s.timed_out + s.padded_rows + s.resets, 0u);
}

}  // namespace
}  // namespace poprt::runtime
