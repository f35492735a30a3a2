#include "runtime/telemetry/statistics.h"

#include <algorithm>
#include <cmath>
#include <mutex>

namespace poprt::runtime {

void TraceBuffer::record(const Tracepoint& point) {
  const std::lock_guard lock(mutex_);
  if (mutex_.abandoned()) return;
  if (capacity_ == 0 || ring_.size() < capacity_)
    ring_.push_back(point);
  else
    ring_[recorded_ % capacity_] = point;
  recorded_++;
}

std::vector<Tracepoint> TraceBuffer::points() const {
  const std::lock_guard lock(mutex_);
  if (mutex_.abandoned()) return {};
  std::vector<Tracepoint> list = ring_;
  if (capacity_ && recorded_ > capacity_)
    std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(recorded_ % capacity_),
                list.end());
  return list;
}

uint64_t TraceBuffer::recorded() const {
  const std::lock_guard lock(mutex_);
  return mutex_.abandoned() ? 0 : recorded_;
}

uint64_t LatencyHistogram::quantile_ns(double q) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(q * static_cast<double>(count)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; i++) {
    seen += counts[i];
    if (counts[i] && seen >= wanted) return uint64_t{2} << i;
  }
  return 0;
}

RunnerStatistics& RunnerStatistics::operator+=(const RunnerStatistics& o) {
  for (const auto field :
       {&RunnerStatistics::submitted, &RunnerStatistics::completed, &RunnerStatistics::failed,
        &RunnerStatistics::cancelled, &RunnerStatistics::timed_out, &RunnerStatistics::rows,
        &RunnerStatistics::padded_rows, &RunnerStatistics::batches, &RunnerStatistics::steps,
        &RunnerStatistics::steps_loaded, &RunnerStatistics::steps_stored,
        &RunnerStatistics::device_errors, &RunnerStatistics::resets, &RunnerStatistics::in_flight,
        &RunnerStatistics::queue_capacity})
    this->*field += o.*field;
  for (size_t i = 0; i < LatencyHistogram::kBuckets; i++) latency.counts[i] += o.latency.counts[i];
  latency.count += o.latency.count;
  latency.total_ns += o.latency.total_ns;
  latency.max_ns = std::max(latency.max_ns, o.latency.max_ns);
  return *this;
}

void Counters::latency(std::chrono::nanoseconds took) noexcept {
  const auto ns = static_cast<uint64_t>(std::max<int64_t>(took.count(), 1));
  const auto bucket = static_cast<size_t>(std::bit_width(ns) - 1);
  add(buckets_[std::min(bucket, buckets_.size() - 1)]);
  add(total_ns_, ns);
  uint64_t max = max_ns_.load(std::memory_order_relaxed);
  while (ns > max && !max_ns_.compare_exchange_weak(max, ns, std::memory_order_relaxed)) continue;
}

RunnerStatistics Counters::snapshot() const noexcept {
  const auto get = [](const Counter& c) { return c.load(std::memory_order_relaxed); };
  RunnerStatistics s;
  s.submitted = get(submitted);
  s.completed = get(completed);
  s.failed = get(failed);
  s.cancelled = get(cancelled);
  s.timed_out = get(timed_out);
  s.rows = get(rows);
  s.padded_rows = get(padded_rows);
  s.batches = get(batches);
  s.steps = get(steps);
  s.steps_loaded = get(steps_loaded);
  s.steps_stored = get(steps_stored);
  s.device_errors = get(device_errors);
  s.resets = get(resets);
  for (size_t i = 0; i < buckets_.size(); i++) {
    s.latency.counts[i] = get(buckets_[i]);
    s.latency.count += s.latency.counts[i];
  }
  s.latency.total_ns = get(total_ns_);
  s.latency.max_ns = get(max_ns_);
  return s;
}

}  // namespace poprt::runtime
