// The bytes of a telemetry segment (README.md).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace poprt::runtime::telemetry {

inline constexpr std::array<char, 8> kMagic = {'P', 'O', 'P', 'R', 'T', 'T', 'E', 'L'};
inline constexpr uint32_t kMajor = 1, kMinor = 3;
inline constexpr uint32_t kMaxQueues = 4096, kMaxVariants = 1024;
inline constexpr size_t kNameBytes = 128;

// One thread at a time writes a counter, except Replica::submitted; other processes read it.
using Counter = std::atomic<uint64_t>;
static_assert(Counter::is_always_lock_free && sizeof(Counter) == 8);

// Written before the file has its final name, and constant afterwards.
struct Header {
  std::array<char, 8> magic;
  uint32_t major, minor;
  uint32_t header_bytes, replica_bytes, queue_bytes;
  uint32_t queue_count;
  uint32_t histogram_buckets;
  uint32_t replica;  // SessionConfig::replica: the number of the replica in its runner
  uint64_t pid;
  uint64_t started_ns;                    // CLOCK_REALTIME
  std::array<char, kNameBytes> name;      // name of the executable; zero-terminated
  uint32_t variant_bytes, variant_count;  // since 1.2; zero before
  uint32_t generator_bytes;               // since 1.3; zero before, and without a generator
  uint32_t unused;                        // zero
  std::array<uint64_t, 7> reserved;
};
static_assert(sizeof(Header) == 256);

// Latencies have 4 buckets per power of two. Bucket i < 4 is i ns; any other begins at (4 + i % 4)
// << (i / 4 - 1) ns.
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
  // Odd while the fields up to `histogram` change. A copy is consistent if the sequence is even and
  // equal before and after it.
  Counter sequence;
  Counter completed, failed;  // requests
  Counter latency_sum_ns, latency_max_ns;
  Counter runs, busy_ns;                    // for the main program
  Counter updated_ns;                       // CLOCK_MONOTONIC at the end of the last run
  std::array<Counter, kBuckets> histogram;  // latencies of completed requests
  // Not covered by `sequence`, because every submitter counts here.
  Counter submitted;
  std::array<uint64_t, 7> reserved;
};
static_assert(sizeof(Replica) == 64 + 8 * kBuckets + 64);

struct Queue {
  std::array<char, kNameBytes> name;  // name of the anchor
  uint64_t direction;                 // 0 input, 1 output
  uint64_t capacity;
  Counter enqueued, high_water;  // written by the producer
  Counter finished, stalls;      // written by the consumer
  // Since 1.1: 1 + the index of the record whose counters also apply to this record, or 0 if this
  // record has counters.
  uint64_t shares;
  std::array<uint64_t, 9> reserved;
};
static_assert(sizeof(Queue) == 256);

// One variant of an executable with several models or shapes; each run takes one.
struct Variant {
  std::array<char, kNameBytes> name;
  Counter runs, busy_ns;  // part of the runs of the replica record
  std::array<uint64_t, 6> reserved;
};
static_assert(sizeof(Variant) == 192);

// The state of a generator of texts, after the variant records.
struct Generator {
  // Constant.
  uint64_t slots, max_length;  // texts that one step computes together, and tokens of a text
  uint64_t cache_bytes;        // memory of the caches of all slots
  // The current state.
  Counter busy, waiting;  // slots that belong to a text, and texts that wait for a slot
  Counter used;           // places of tokens in busy slots, of slots * max_length
  // Since the start.
  Counter submitted, ended;  // texts
  Counter prompt_tokens, reused_tokens, prompt_ns;
  Counter decode_tokens, decode_steps, decode_ns;
  std::array<uint64_t, 10> reserved;
};
static_assert(sizeof(Generator) == 192);

}  // namespace poprt::runtime::telemetry
