// The telemetry of processes over the last minutes: live, recorded and replayed.
//
// A series is one replica of one model. If its process ends and another process publishes the same
// model and replica, the series continues and has an event for each.
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
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/telemetry/telemetry_reader.h"

namespace poprt::inspector {

inline constexpr size_t kMostSamples = 6000;  // ten minutes of ten samples per second
inline constexpr size_t kMostShownQueues = 256;

// The state of one queue at one time.
struct QueueSample {
  uint64_t fill = 0, high_water = 0, enqueued = 0, stalls = 0;
  float stalls_per_second = 0;
  float mean_fill = 0;  // over the samples of stalls_per_second
};

// Runs of one of several models or shapes since the previous sample.
struct VariantSample {
  uint64_t runs = 0, busy_ns = 0;
};

struct TelemetrySample {
  double time = 0;     // seconds since 1970
  bool first = false;  // of its process; any previous sample is of another process
  // Averages over the previous second, so that single requests do not appear as bursts and pauses.
  double requests_per_second = 0, runs_per_second = 0;
  double p50_ns = 0, p90_ns = 0, p99_ns = 0;  // negative if no request was completed
  double busy = 0;                            // fraction of that second
  uint64_t in_flight = 0;
  uint64_t failed = 0, stalls = 0;             // since the previous sample
  uint64_t all_completed = 0, all_failed = 0;  // since the process started
  uint64_t all_runs = 0, all_busy_ns = 0;
  std::vector<QueueSample> queues;
  std::vector<VariantSample> variants;
  // The record of a generator of texts, and its tokens per second over the previous second.
  std::optional<runtime::GeneratorSnapshot> generator;
  double prompt_tokens_per_second = 0, decode_tokens_per_second = 0;
  // Requests completed since the previous sample: latency buckets and counts.
  std::vector<std::pair<uint16_t, uint32_t>> latencies;
};

struct QueueState {
  std::string name;
  bool is_output = false;
  uint64_t capacity = 0;

  double part(const QueueSample& sample) const;  // fraction of its capacity, 0..1
};
// The fraction from which a queue counts as full.
inline constexpr double kFull = 0.98;

struct TelemetryEvent {
  double time = 0;
  std::string text;  // such as "found (pid 7)", "ended (pid 7)", "3 requests failed", "mark 1"
};

struct TelemetrySeries {
  std::string name;
  uint32_t replica = 0;
  uint64_t pid = 0;
  bool alive = false;
  std::vector<QueueState> queues;
  std::vector<std::string> variants;  // names; empty if the executable is one model at one shape
  std::deque<TelemetrySample> samples;
  std::deque<TelemetryEvent> events;

  std::string title() const;
  // The sample at that time; null before the first sample, and while no process published.
  const TelemetrySample* at(double time) const;
  // Requests so far that ran in the thread of their caller without entering a queue.
  uint64_t direct(const TelemetrySample& sample) const;
  // The input queue that the device waited for most in the previous seconds, or -1. A queue that
  // had waiting elements then does not count, even if the device waited at times.
  int starving_queue(const TelemetrySample& sample) const;
  // The first queue that counts as full (kFull), or -1.
  int full_queue(const TelemetrySample& sample) const;
  // Quantile of the requests completed in (from, to]; negative if there were none.
  double latency(double from, double to, double quantile) const;
  // Use of each variant in (from, to].
  std::vector<VariantSample> variant_use(double from, double to) const;

  // State of the previous sample.
  uint64_t started_ns = 0;
  runtime::TelemetrySnapshot last;
};

// Not thread-safe.
class TelemetryHistory {
 public:
  // Adds the snapshots of one time. Times must not decrease.
  void add(double time, const std::vector<runtime::TelemetrySnapshot>& snapshots);
  // Adds a mark with this name. The oldest one is removed if there are 100.
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

// A recording is text: kRecordingHead, then one JSON object per sample or mark.
inline constexpr std::string_view kRecordingHead = "{\"poprt_telemetry\": 1}";
std::string recording_line(double time, const std::vector<runtime::TelemetrySnapshot>& snapshots);
std::string mark_line(const TelemetryEvent& mark);
// Throws Error(data_loss) with the line number. An incomplete last line is ignored with a warning,
// because the recording process may have been killed.
TelemetryHistory read_recording(const std::filesystem::path& path);

// Reads the folder of segments on another thread.
class TelemetryWatcher {
 public:
  // If `folder` is empty, the default folder of this user's processes is read. `wake` is called
  // after each sample with a live process, and after the first sample without one that follows.
  explicit TelemetryWatcher(std::filesystem::path folder = {}, double interval = 0.1,
                            std::function<void()> wake = {});
  ~TelemetryWatcher();
  TelemetryWatcher(const TelemetryWatcher&) = delete;
  TelemetryWatcher& operator=(const TelemetryWatcher&) = delete;

  // Calls `use(const TelemetryHistory&)` while holding the lock. It must be short.
  template <class F>
  void with_history(F&& use) const {
    const std::lock_guard lock(mutex_);
    use(history_);
  }
  // The number of samples that were taken so far.
  uint64_t sample_count() const { return sample_count_.load(std::memory_order_relaxed); }
  const std::filesystem::path& folder() const { return folder_; }
  // Error of the last sample, or empty.
  std::string error() const;

  // Starts a recording, and ends the one that is running, if any. Throws Error if the file cannot
  // be created.
  void record(const std::filesystem::path& path);
  void stop_recording();
  // Adds a mark "mark N" to the history, and to the recording, if there is one.
  void mark(double time);
  bool recording() const { return recording_.load(std::memory_order_relaxed); }

 private:
  void look();
  void run();

  std::filesystem::path folder_;
  double interval_;
  std::function<void()> wake_;
  mutable std::mutex mutex_;  // protects the members below
  TelemetryHistory history_;
  std::string error_;
  std::ofstream file_;
  bool was_alive_ = false;
  int marks_ = 0;  // number of marks so far
  std::atomic<uint64_t> sample_count_{0};
  std::atomic<bool> recording_{false}, stop_{false};
  std::thread thread_;
};

}  // namespace poprt::inspector
