// Publishes what a session does to other processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/telemetry/telemetry_layout.h"

namespace poprt::runtime {

// True when POPRT_TELEMETRY is set to something else than "" and "0".
bool telemetry_wanted();

// The folder of segments: POPRT_TELEMETRY_DIR, else device::runtime_dir(). Throws as that.
std::filesystem::path telemetry_dir();

// One segment in shared memory. Readers never write to it and hold no lock, so they may come and go
// at any time. The segment is removed with the object; one that a killed process has left is
// removed by the next publisher.
//
// Counting functions allocate nothing, and any thread calls them. submitted() waits for nobody;
// completed(), failed() and ran() take turns, each of some nanoseconds. Those of a ring, which is
// written by one thread at a time, are wait-free.
class Telemetry {
 public:
  using Clock = std::chrono::steady_clock;

  // Room for `queues` queues; `variants` are the names of the variants, of which each run takes
  // one. Throws permission_denied, resource_exhausted.
  Telemetry(std::string_view name, uint32_t replica, uint32_t queues,
            std::span<const std::string> variants = {});
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Null, with a warning in the log, when the segment cannot be made: serving goes on without.
  static std::unique_ptr<Telemetry> try_make(std::string_view name, uint32_t replica,
                                             uint32_t queues,
                                             std::span<const std::string> variants = {}) noexcept;

  void submitted() noexcept { replica_->submitted.fetch_add(1, std::memory_order_relaxed); }
  void completed(std::chrono::nanoseconds latency) noexcept;
  void failed() noexcept;
  void ran(Clock::time_point begin, Clock::time_point end, size_t variant = 0) noexcept;

  // The record of queue `index`, whose counters the queue's two sides write.
  telemetry::Queue* queue(uint32_t index, std::string_view name, bool is_output, uint64_t capacity);

  // One ring of requests that carry all these anchors (name, is output): one set of counters,
  // written by one thread at a time, for as many records.
  void ring(std::span<const std::pair<std::string_view, bool>> anchors, uint64_t capacity);
  void enqueued(uint64_t fill) noexcept;
  void finished(uint64_t n) noexcept;
  void stalled() noexcept;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::byte* map_ = nullptr;
  size_t bytes_ = 0;
  uint32_t queues_ = 0;
  telemetry::Replica* replica_ = nullptr;
  telemetry::Queue* ring_ = nullptr;
  std::span<telemetry::Variant> variants_;
};

}  // namespace poprt::runtime
