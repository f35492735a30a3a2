// Our ring against boost::lockfree::spsc_queue: two pinned threads, both queues by turns in one
// run.
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/ring_buffer.h"

namespace {

using Clock = std::chrono::steady_clock;
using poprt::runtime::RingBuffer;

constexpr int kRounds = 9;
constexpr size_t kBatch = 64;

template <size_t kBytes>
struct Element {
  uint64_t value;
  unsigned char rest[kBytes - 8];
};
template <>
struct Element<8> {
  uint64_t value;
};

template <class T>
struct Ours {
  explicit Ours(size_t capacity) : ring(capacity) {}
  bool push(const T& v) { return ring.try_push(v); }
  bool pop(T& v) { return ring.try_pop(v); }
  size_t push(const T* from, size_t n) {
    const auto slots = ring.begin(n);
    std::copy_n(from, slots.size(), slots.data());
    ring.commit(slots.size());
    return slots.size();
  }
  size_t pop(T* to, size_t n) {
    const auto front = ring.peek(n);
    std::copy_n(front.data(), front.size(), to);
    ring.consume(front.size());
    return front.size();
  }
  RingBuffer<T> ring;
};

template <class T>
struct Boost {
  explicit Boost(size_t capacity) : ring(capacity) {}
  bool push(const T& v) { return ring.push(v); }
  bool pop(T& v) { return ring.pop(v); }
  size_t push(const T* from, size_t n) { return ring.push(from, n); }
  size_t pop(T* to, size_t n) { return ring.pop(to, n); }
  boost::lockfree::spsc_queue<T> ring;
};

void pin(int index) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &all) && index-- == 0) CPU_SET(cpu, &one);
  if (CPU_COUNT(&one)) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

// Seconds that `near` takes here and `far` on another thread together.
template <class Near, class Far>
double together(Near&& near, Far&& far) {
  std::atomic<bool> ready{false}, go{false};
  double seconds = 0;
  std::thread first([&] {
    pin(0);
    while (!ready) continue;
    const auto start = Clock::now();
    go = true;
    near();
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  });
  std::thread second([&] {
    pin(1);
    ready = true;
    while (!go) continue;
    far();
  });
  first.join();
  second.join();
  return seconds;
}

void check(uint64_t sum, size_t count) {
  if (sum == count * (count - 1) / 2) return;
  fmt::print(stderr, "ring_bench: elements were lost or changed\n");
  std::exit(1);
}

// Million elements per second.
template <class Queue, class T>
double one_by_one(size_t capacity, size_t count) {
  Queue queue(capacity);
  std::atomic<bool> done{false};
  uint64_t sum = 0;
  const double seconds = together(
      [&] {
        T v{};
        for (size_t i = 0; i < count; i++) {
          v.value = i;
          while (!queue.push(v)) continue;
        }
        while (!done.load(std::memory_order_acquire)) continue;
      },
      [&] {
        T v;
        for (size_t i = 0; i < count; i++) {
          while (!queue.pop(v)) continue;
          sum += v.value;
        }
        done.store(true, std::memory_order_release);
      });
  check(sum, count);
  return static_cast<double>(count) / seconds / 1e6;
}

template <class Queue, class T>
double batched(size_t capacity, size_t count) {
  Queue queue(capacity);
  std::atomic<bool> done{false};
  uint64_t sum = 0;
  const double seconds = together(
      [&] {
        std::vector<T> v(kBatch);
        for (size_t i = 0; i < count; i += kBatch) {
          for (size_t k = 0; k < kBatch; k++) v[k].value = i + k;
          for (size_t k = 0; k < kBatch;) k += queue.push(&v[k], kBatch - k);
        }
        while (!done.load(std::memory_order_acquire)) continue;
      },
      [&] {
        std::vector<T> v(kBatch);
        for (size_t i = 0; i < count;) {
          const size_t n = queue.pop(v.data(), kBatch);
          for (size_t k = 0; k < n; k++) sum += v[k].value;
          i += n;
        }
        done.store(true, std::memory_order_release);
      });
  check(sum, count);
  return static_cast<double>(count) / seconds / 1e6;
}

// Nanoseconds there and back.
template <class Queue, class T>
double round_trip(size_t capacity, size_t count) {
  Queue there(capacity), back(capacity);
  const double seconds = together(
      [&] {
        T v{};
        for (size_t i = 0; i < count; i++) {
          while (!there.push(v)) continue;
          while (!back.pop(v)) continue;
        }
      },
      [&] {
        T v;
        for (size_t i = 0; i < count; i++) {
          while (!there.pop(v)) continue;
          while (!back.push(v)) continue;
        }
      });
  return seconds / static_cast<double>(count) * 1e9;
}

// The floor of round trips on this machine, now.
double flag_round_trip(size_t count) {
  struct alignas(128) Flag {
    std::atomic<uint64_t> value{0};
  };
  Flag there, back;
  const double seconds = together(
      [&] {
        for (uint64_t i = 1; i <= count; i++) {
          there.value.store(i, std::memory_order_release);
          while (back.value.load(std::memory_order_acquire) != i) continue;
        }
      },
      [&] {
        for (uint64_t i = 1; i <= count; i++) {
          while (there.value.load(std::memory_order_acquire) != i) continue;
          back.value.store(i, std::memory_order_release);
        }
      });
  return seconds / static_cast<double>(count) * 1e9;
}

struct Samples {
  std::vector<double> values;
  double median() {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
};

template <size_t kBytes>
void compare(size_t capacity, size_t count) {
  using T = Element<kBytes>;
  Samples s[6], flag;
  for (int round = 0; round < kRounds; round++) {
    flag.values.push_back(flag_round_trip(20'000));
    s[0].values.push_back(one_by_one<Ours<T>, T>(capacity, count));
    s[1].values.push_back(one_by_one<Boost<T>, T>(capacity, count));
    s[2].values.push_back(batched<Ours<T>, T>(capacity, count));
    s[3].values.push_back(batched<Boost<T>, T>(capacity, count));
    s[4].values.push_back(round_trip<Ours<T>, T>(capacity, 20'000));
    s[5].values.push_back(round_trip<Boost<T>, T>(capacity, 20'000));
  }
  double m[6];
  for (int i = 0; i < 6; i++) m[i] = s[i].median();
  fmt::print(
      "{:>5} {:>8} | {:>7.1f} {:>7.1f} {:>6.2f} | {:>7.1f} {:>7.1f} {:>6.2f} {:>8.2f} | {:>6.0f} "
      "{:>6.0f} {:>6.2f} | {:>5.0f}\n",
      kBytes, capacity, m[0], m[1], m[0] / m[1], m[2], m[3], m[2] / m[3], m[2] / m[1], m[4], m[5],
      m[4] / m[5], flag.median());
}

}  // namespace

int main() {
  fmt::print("medians of {} rounds by turns; one way in million elements/s, round trips in ns\n\n",
             kRounds);
  fmt::print("{:>5} {:>8} | {:^22} | {:^31} | {:^20} | {:>5}\n", "bytes", "capacity", "one by one",
             "batches of 64", "round trip", "flag");
  fmt::print("{:>5} {:>8} | {:>7} {:>7} {:>6} | {:>7} {:>7} {:>6} {:>8} | {:>6} {:>6} {:>6} |\n",
             "", "", "ours", "boost", "ratio", "ours", "boost", "ratio", "/1by1", "ours", "boost",
             "ratio");
  compare<8>(1024, 1 << 21);
  compare<8>(65536, 1 << 22);
  compare<64>(1024, 1 << 19);
  compare<1024>(64, 1 << 16);
  return 0;
}
