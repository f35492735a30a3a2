// The bytes of a telemetry segment (README.md).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace poprt::runtime::telemetry {

inline constexpr std::array<char, 8> kMagic = {'P', 'O', 'P', 'R', 'T', 'T', 'E', 'L'};
inline constexpr uint32_t kMajor = 1, kMinor = 2;
inline constexpr uint32_t kMaxQueues = 4096, kMaxVariants = 1024;
inline constexpr size_t kNameBytes = 128;

// Counters are written by one thread at a time and read by other processes.
using Counter = std::atomic<uint64_t>;
static_assert(Counter::is_always_lock_free && sizeof(Counter) == 8);

// Written before the file has its final name, constant afterwards.
struct Header {
  std::array<char, 8> magic;
  uint32_t major, minor;
  uint32_t header_bytes, replica_bytes, queue_bytes;
  uint32_t queue_count;
  uint32_t histogram_buckets;
  uint32_t replica;  // of how many sessions with this name in the process
  uint64_t pid;
  uint64_t started_ns;                    // CLOCK_REALTIME
  std::array<char, kNameBytes> name;      // of the executable; zero-terminated
  uint32_t variant_bytes, variant_count;  // since 1.2; before it zero
  std::array<uint64_t, 8> reserved;
};
static_assert(sizeof(Header) == 256);

// Latencies: 4 buckets per power of two. Bucket i < 4 is i ns; else it begins at
// (4 + i % 4) << (i / 4 - 1) ns.
inline constexpr size_t kBuckets = 256;
constexpr size_t bucket_of(uint64_t ns) {
  if (ns < 4) return static_cast<size_t>(ns);
  const auto octave = static_cast<unsigned>(std::bit_width(ns)) - 3;  // ns >> octave is 4 to 7
  return (octave + 1) * 4 + static_cast<size_t>((ns >> octave) & 3);
}
constexpr uint64_t bucket_begin(size_t bucket) {
  return bucket < 4 ? bucket : (uint64_t{4} + bucket % 4) << (bucket / 4 - 1);
}

struct Replica {
  // Odd while the fields up to `histogram` change; even and equal before and after a copy: it is
  // consistent.
  Counter sequence;
  Counter completed, failed;  // requests
  Counter latency_sum_ns, latency_max_ns;
  Counter runs, busy_ns;                    // of the main program
  Counter updated_ns;                       // CLOCK_MONOTONIC of the last change
  std::array<Counter, kBuckets> histogram;  // of completed requests
  // On its own: counted by every submitter.
  Counter submitted;
  std::array<uint64_t, 7> reserved;
};
static_assert(sizeof(Replica) == 64 + 8 * kBuckets + 64);

struct Queue {
  std::array<char, kNameBytes> name;  // of the anchor
  uint64_t direction;                 // 0 input, 1 output
  uint64_t capacity;
  Counter enqueued, high_water;  // by the producer
  Counter finished, stalls;      // by the consumer
  uint64_t shares;  // since 1.1: 1 + the record whose counters are this one's; 0: its own
  std::array<uint64_t, 9> reserved;
};
static_assert(sizeof(Queue) == 256);

// One of several models or shapes in an executable, of which each run takes one.
struct Variant {
  std::array<char, kNameBytes> name;
  Counter runs, busy_ns;  // of those of the replica record
  std::array<uint64_t, 6> reserved;
};
static_assert(sizeof(Variant) == 192);

}  // namespace poprt::runtime::telemetry
