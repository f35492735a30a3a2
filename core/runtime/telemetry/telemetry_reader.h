// Reads telemetry segments of other processes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/telemetry/telemetry_layout.h"

namespace poprt::runtime {

inline constexpr std::string_view kSegmentPrefix = "telemetry.";

struct SegmentName {
  std::filesystem::path path;
  bool alive = false;  // whether a process publishes to it
};

// Sorted by name; empty if the folder is missing. Files in the folder never cause an exception.
std::vector<SegmentName> list_segments(const std::filesystem::path& folder);

struct QueueSnapshot {
  std::string name;
  bool is_output = false;
  uint64_t capacity = 0, fill = 0, high_water = 0, enqueued = 0, finished = 0, stalls = 0;
};

struct VariantSnapshot {
  std::string name;
  uint64_t runs = 0, busy_ns = 0;
};

// A generator of texts: the fields of telemetry::Generator.
struct GeneratorSnapshot {
  uint64_t slots = 0, max_length = 0, cache_bytes = 0;
  uint64_t busy = 0, waiting = 0, used = 0;
  uint64_t submitted = 0, ended = 0;
  uint64_t prompt_tokens = 0, reused_tokens = 0, prompt_ns = 0;
  uint64_t decode_tokens = 0, decode_steps = 0, decode_ns = 0;

  uint64_t places() const { return slots * max_length; }
  double used_part() const {
    return places() ? static_cast<double>(used) / static_cast<double>(places()) : 0;
  }
  // Returns a copy with limited numbers, because a segment is not trusted: its places() does not
  // overflow, and no part exceeds 1.
  GeneratorSnapshot limited() const;
};

struct TelemetrySnapshot {
  std::string name;                                  // printable, for any contents of the segment
  uint64_t pid = 0, started_ns = 0, sampled_ns = 0;  // CLOCK_REALTIME
  uint32_t replica = 0;
  bool alive = false;
  // False if the process died during a change, or changed the record during every attempt: the
  // numbers of requests and runs may then be inconsistent.
  bool consistent = false;
  uint64_t submitted = 0, completed = 0, failed = 0, in_flight = 0;
  uint64_t latency_sum_ns = 0, latency_max_ns = 0, runs = 0, busy_ns = 0;
  std::array<uint64_t, telemetry::kBuckets> histogram{};
  std::vector<QueueSnapshot> queues;
  std::vector<VariantSnapshot> variants;  // of an executable with several variants
  std::optional<GeneratorSnapshot> generator;

  // Upper end of the bucket with the q-quantile, at most the maximum; 0 without requests.
  uint64_t quantile_ns(double q) const;
};

// The segment belongs to another process and is not trusted: it may be damaged, truncated or
// forged. It is copied by read(), never mapped, and everything is checked. Throws not_found,
// permission_denied, data_loss (not a segment, or invalid sizes) and failed_precondition (another
// major version).
TelemetrySnapshot read_segment(const std::filesystem::path& path);

// A JSON object for a snapshot, and an array for all segments that can be read.
std::string to_json(const TelemetrySnapshot& snapshot);
std::string telemetry_json(const std::filesystem::path& folder);

}  // namespace poprt::runtime
