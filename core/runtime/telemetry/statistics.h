// The statistics of a runner: counters that are always on, and a trace of single requests.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"

namespace poprt::runtime {

// The times of one request: nanoseconds of the steady clock at the end of each stage, in order. A
// request of several steps has the begin of its first step and the other times of its last step.
struct Tracepoint {
  enum Stage : uint8_t {
    submitted,      // the caller submitted it
    begun,          // the runner took it, because a batch is complete or was padded
    loaded,         // its inputs are in the memory that the device reads
    compute_begin,  // the device started
    compute_end,    // the device stopped
    stored,         // its outputs are in the caller's memory
    stages
  };
  // Number of the request per replica, beginning with 1; 0 for a synchronous call that did not use
  // the queue.
  uint64_t request = 0;
  uint64_t rows = 0;
  int32_t replica = 0;
  ErrorCode code = ErrorCode::ok;
  std::array<int64_t, stages> ns{};
};

inline constexpr const char* kStageNames[] = {"submitted",     "begun",       "loaded",
                                              "compute_begin", "compute_end", "stored"};

// A ring of the last `capacity` tracepoints; 0 keeps all. Thread-safe. In a process that was forked
// while another thread of the parent changed it, it is empty and stays so.
class TraceBuffer {
 public:
  explicit TraceBuffer(size_t capacity) : capacity_(capacity) { ring_.reserve(capacity); }
  void record(const Tracepoint& point);
  // Oldest first.
  std::vector<Tracepoint> points() const;
  uint64_t recorded() const;

 private:
  const size_t capacity_;
  mutable ForkMutex mutex_;
  std::vector<Tracepoint> ring_;
  uint64_t recorded_ = 0;
};

// Latencies from submission to the written output. Bucket i counts [2^i, 2^(i+1)) nanoseconds; the
// last bucket also counts all longer ones.
struct LatencyHistogram {
  static constexpr size_t kBuckets = 40;
  std::array<uint64_t, kBuckets> counts{};
  uint64_t count = 0, total_ns = 0, max_ns = 0;
  // The upper end of the bucket with the q-quantile (0 to 1); 0 without requests.
  uint64_t quantile_ns(double q) const;
};

// The statistics of one replica, or the sum of all.
struct RunnerStatistics {
  uint64_t submitted = 0, completed = 0;  // accepted; outputs written
  uint64_t failed = 0, cancelled = 0, timed_out = 0;
  uint64_t rows = 0, padded_rows = 0;  // rows of callers; rows that fill batches
  uint64_t batches = 0, steps = 0;     // runs of the device; groups of batches_per_step
  uint64_t steps_loaded = 0, steps_stored = 0;
  uint64_t device_errors = 0, resets = 0;
  uint64_t in_flight = 0;
  uint64_t queue_capacity = 0;  // places; further requests in flight are in the line
  LatencyHistogram latency;

  RunnerStatistics& operator+=(const RunnerStatistics& o);
};

// The counters of RunnerStatistics. Any thread may add to them and read them.
class Counters {
 public:
  using Counter = std::atomic<uint64_t>;
  Counter submitted{0}, completed{0}, failed{0}, cancelled{0}, timed_out{0}, rows{0},
      padded_rows{0}, batches{0}, steps{0}, steps_loaded{0}, steps_stored{0}, device_errors{0},
      resets{0};

  static void add(Counter& c, uint64_t n = 1) noexcept {
    c.fetch_add(n, std::memory_order_relaxed);
  }
  void latency(std::chrono::nanoseconds took) noexcept;
  RunnerStatistics snapshot() const noexcept;

 private:
  std::array<Counter, LatencyHistogram::kBuckets> buckets_{};
  Counter total_ns_{0}, max_ns_{0};
};

}  // namespace poprt::runtime
