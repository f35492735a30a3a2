// Publishes the activity of a session to other processes.
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

// Whether POPRT_TELEMETRY is set to a value other than "" and "0".
bool telemetry_wanted();

// The folder of segments: POPRT_TELEMETRY_DIR, else device::runtime_dir(). Throws the errors of
// that function.
std::filesystem::path telemetry_dir();

// One segment in shared memory. Readers do not write to it and hold no lock, so they may start and
// end at any time. The destructor removes the segment, unless it runs in a forked child; a segment
// of a killed process is removed by the next publisher.
//
// Counting functions allocate nothing, and any thread may call them. submitted() does not wait;
// completed(), failed() and ran() exclude each other for some nanoseconds. The counters of a ring,
// which one thread at a time writes, are wait-free.
class Telemetry {
 public:
  using Clock = std::chrono::steady_clock;

  // Creates a segment with room for `queues` queues. `variants` are the names of the variants, of
  // which each run takes one. `generator` adds the record of a generator. Throws permission_denied,
  // resource_exhausted, and the errors of telemetry_dir().
  Telemetry(std::string_view name, uint32_t replica, uint32_t queues,
            std::span<const std::string> variants = {}, bool generator = false);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Returns null, with a warning in the log, if the segment cannot be created: the session
  // continues without it.
  static std::unique_ptr<Telemetry> try_make(std::string_view name, uint32_t replica,
                                             uint32_t queues,
                                             std::span<const std::string> variants = {},
                                             bool generator = false) noexcept;

  void submitted() noexcept { replica_->submitted.fetch_add(1, std::memory_order_relaxed); }
  void completed(std::chrono::nanoseconds latency) noexcept;
  void failed() noexcept;
  void ran(Clock::time_point begin, Clock::time_point end, size_t variant = 0) noexcept;

  // Names a variant that was created without a name. Readers ignore it until then.
  void name_variant(size_t variant, std::string_view name) noexcept;

  // Names the record of queue `index` and returns it, or null if there is no room for it. The
  // producer and the consumer of the queue write its counters.
  telemetry::Queue* name_queue(uint32_t index, std::string_view name, bool is_output,
                               uint64_t capacity);

  // Adds records for one ring of requests that contain all these anchors (name, is output). The
  // records share one set of counters, which only one thread at a time writes.
  void add_ring(std::span<const std::pair<std::string_view, bool>> anchors, uint64_t capacity);
  void enqueued(uint64_t fill) noexcept;
  void finished(uint64_t n) noexcept;
  void stalled() noexcept;

  // The record of the generator, or null. One thread at a time writes it.
  telemetry::Generator* generator() const noexcept { return generator_; }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  pid_t process_ = 0;  // the one that created the segment
  std::byte* map_ = nullptr;
  size_t bytes_ = 0;
  uint32_t queues_ = 0;
  telemetry::Replica* replica_ = nullptr;
  telemetry::Queue* ring_ = nullptr;
  std::span<telemetry::Variant> variants_;
  telemetry::Generator* generator_ = nullptr;
};

}  // namespace poprt::runtime
