// What processes did over the last minutes, from their telemetry: live, recorded and replayed.
//
// A series is one replica of one model. When its process ends and another one begins to publish the
// same model and replica, the series goes on and has an event for each.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/telemetry/telemetry_reader.h"

namespace poprt::inspector {

inline constexpr size_t kMostSamples = 6000;  // ten minutes of ten looks a second
inline constexpr size_t kMostShownQueues = 256;

// Of one queue at one moment.
struct QueueSample {
  uint64_t fill = 0, high_water = 0, enqueued = 0, stalls = 0;
  float stalls_per_second = 0;
};

// Runs since the sample before that took one of several models or shapes.
struct VariantSample {
  uint64_t runs = 0, busy_ns = 0;
};

struct TelemetrySample {
  double time = 0;     // seconds since 1970
  bool first = false;  // of its process: what is before it was another one
  // Over the second before it, so that single requests do not look like bursts and pauses.
  double requests_per_second = 0, runs_per_second = 0;
  double p50_ns = 0, p90_ns = 0, p99_ns = 0;  // negative: no request was completed
  double busy = 0;                            // a part of that second
  uint64_t in_flight = 0;
  uint64_t failed = 0, stalls = 0;             // since the sample before
  uint64_t all_completed = 0, all_failed = 0;  // since the process began
  uint64_t all_runs = 0, all_busy_ns = 0;
  std::vector<QueueSample> queues;
  std::vector<VariantSample> variants;
  // Requests that were completed since the sample before: buckets of latency, and how many.
  std::vector<std::pair<uint16_t, uint32_t>> latencies;
};

struct QueueState {
  std::string name;
  bool is_output = false;
  uint64_t capacity = 0;

  double part(const QueueSample& sample) const;  // of its capacity, 0..1
};
// A queue is full from here on.
inline constexpr double kFull = 0.98;

struct TelemetryEvent {
  double time = 0;
  std::string text;  // "began", "ended", "3 requests failed", "mark 1"
};

struct TelemetrySeries {
  std::string name;
  uint32_t replica = 0;
  uint64_t pid = 0;
  bool alive = false;
  std::vector<QueueState> queues;
  std::vector<std::string> variants;  // names; none: the executable is one model at one shape
  std::deque<TelemetrySample> samples;
  std::deque<TelemetryEvent> events;

  std::string title() const;
  // What was known at that moment; null before the first sample, and when no process published.
  const TelemetrySample* at(double time) const;
  // The input queue for which the device waited most in the seconds before; -1: for none.
  int starving(const TelemetrySample& sample) const;
  // The first queue that has no room left; -1: none.
  int full(const TelemetrySample& sample) const;
  // Of the requests completed in (from, to]; negative: none were.
  double latency(double from, double to, double quantile) const;
  // Of each variant, in (from, to].
  std::vector<VariantSample> variant_use(double from, double to) const;

  // Of the sample before.
  uint64_t started_ns = 0;
  runtime::TelemetrySnapshot last;
};

// One thread at a time.
class TelemetryHistory {
 public:
  // Snapshots of one moment; times do not decrease.
  void add(double time, const std::vector<runtime::TelemetrySnapshot>& snapshots);
  // A moment to come back to, which whoever looks on names.
  void mark(double time, std::string text);
  const std::vector<TelemetrySeries>& series() const { return series_; }
  const std::vector<TelemetryEvent>& marks() const { return marks_; }
  double first_time() const;
  double last_time() const { return last_time_; }

 private:
  TelemetrySeries* series_of(const runtime::TelemetrySnapshot& snapshot, double time);
  std::vector<TelemetrySeries> series_;
  std::vector<TelemetryEvent> marks_;
  double last_time_ = 0;
};

// A recording is text: kRecordingHead, then one JSON object per look or mark.
inline constexpr std::string_view kRecordingHead = "{\"poprt_telemetry\": 1}";
std::string recording_line(double time, const std::vector<runtime::TelemetrySnapshot>& snapshots);
std::string mark_line(const TelemetryEvent& mark);
// Throws Error(data_loss) naming the line. An unfinished last line is left out: whoever recorded
// may have been killed.
TelemetryHistory read_recording(const std::filesystem::path& path);

// Looks at the folder of segments on a thread of its own.
class TelemetryWatcher {
 public:
  // An empty folder means where this user's processes publish. `wake` is called after looks that
  // found something alive, and after the first that does not.
  explicit TelemetryWatcher(std::filesystem::path folder = {}, double interval = 0.1,
                            std::function<void()> wake = {});
  ~TelemetryWatcher();
  TelemetryWatcher(const TelemetryWatcher&) = delete;
  TelemetryWatcher& operator=(const TelemetryWatcher&) = delete;

  // Calls `use(const TelemetryHistory&)` while nothing is added. It must not take long.
  template <class F>
  void with_history(F&& use) const {
    const std::lock_guard lock(mutex_);
    use(history_);
  }
  // Grows with each look.
  uint64_t looks() const { return looks_.load(std::memory_order_relaxed); }
  const std::filesystem::path& folder() const { return folder_; }
  // Why the last look failed; empty when it did not.
  std::string error() const;

  // Throws Error when the file cannot be made. One recording at a time.
  void record(const std::filesystem::path& path);
  void stop_recording();
  // Into the recording, too.
  void mark(double time);
  bool recording() const { return recording_.load(std::memory_order_relaxed); }

 private:
  void look();
  void run();

  std::filesystem::path folder_;
  double interval_;
  std::function<void()> wake_;
  mutable std::mutex mutex_;  // of what follows
  TelemetryHistory history_;
  std::string error_;
  std::ofstream file_;
  bool was_alive_ = false;
  int marks_ = 0;  // that were set so far
  std::atomic<uint64_t> looks_{0};
  std::atomic<bool> recording_{false}, stop_{false};
  std::thread thread_;
};

}  // namespace poprt::inspector
