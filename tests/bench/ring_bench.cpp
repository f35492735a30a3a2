// Compares the ring of poprt with boost::lockfree::spsc_queue, on two pinned threads. The queues
// alternate in one run.
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

#include "bench/streamed_ring.h"
#include "runtime/queue/ring_buffer.h"

namespace {

using Clock = std::chrono::steady_clock;
using poprt::runtime::RingBuffer;
using poprt::runtime::StreamedRing;

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

// Each element becomes visible at once.
template <class T, class Ring = RingBuffer<T>>
struct Pushed {
  explicit Pushed(size_t capacity) : ring(capacity) {}
  struct Producer {
    explicit Producer(Pushed& q) : ring(q.ring) {}
    bool push(const T& v) { return ring.try_push(v); }
    void flush() {}
    Ring& ring;
  };
  struct Consumer {
    explicit Consumer(Pushed& q) : ring(q.ring) {}
    bool pop(T& v) { return ring.try_pop(v); }
    Ring& ring;
  };
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
  Ring ring;
};

// Elements become visible in groups, and when the producer flushes.
template <class T>
struct Streamed : Pushed<T, StreamedRing<T>> {
  using Pushed<T, StreamedRing<T>>::Pushed;
  struct Producer {
    explicit Producer(Streamed& q) : writer(q.ring) {}
    bool push(const T& v) { return writer.try_push(v); }
    void flush() { writer.flush(); }
    typename StreamedRing<T>::Writer writer;
  };
  struct Consumer {
    explicit Consumer(Streamed& q) : reader(q.ring) {}
    bool pop(T& v) { return reader.try_pop(v); }
    typename StreamedRing<T>::Reader reader;
  };
};

template <class T>
struct Boost {
  explicit Boost(size_t capacity) : ring(capacity) {}
  using Queue = boost::lockfree::spsc_queue<T>;
  struct Producer {
    explicit Producer(Boost& q) : ring(q.ring) {}
    bool push(const T& v) { return ring.push(v); }
    void flush() {}
    Queue& ring;
  };
  struct Consumer {
    explicit Consumer(Boost& q) : ring(q.ring) {}
    bool pop(T& v) { return ring.pop(v); }
    Queue& ring;
  };
  size_t push(const T* from, size_t n) { return ring.push(from, n); }
  size_t pop(T* to, size_t n) { return ring.pop(to, n); }
  Queue ring;
};

void pin(int index) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &all) && index-- == 0) CPU_SET(cpu, &one);
  if (CPU_COUNT(&one)) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

// Calls `near` and `far` on two threads at the same time. Returns the seconds that `near` takes.
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

// Returns million elements per second. `produce(count)` pushes all elements, and `consume(count)`
// returns the sum of the popped elements.
template <class Produce, class Consume>
double one_way(size_t count, Produce&& produce, Consume&& consume) {
  std::atomic<bool> done{false};
  uint64_t sum = 0;
  const double seconds = together(
      [&] {
        produce(count);
        while (!done.load(std::memory_order_acquire)) continue;
      },
      [&] {
        sum = consume(count);
        done.store(true, std::memory_order_release);
      });
  check(sum, count);
  return static_cast<double>(count) / seconds / 1e6;
}

template <class Queue, class T>
double one_by_one(size_t capacity, size_t count) {
  Queue queue(capacity);
  return one_way(
      count,
      [&](size_t n) {
        typename Queue::Producer to(queue);
        T v{};
        for (size_t i = 0; i < n; i++) {
          v.value = i;
          while (!to.push(v)) continue;
        }
        to.flush();
      },
      [&](size_t n) {
        typename Queue::Consumer from(queue);
        T v;
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
          while (!from.pop(v)) continue;
          sum += v.value;
        }
        return sum;
      });
}

template <class Queue, class T>
double batched(size_t capacity, size_t count) {
  Queue queue(capacity);
  return one_way(
      count,
      [&](size_t n) {
        std::vector<T> v(kBatch);
        for (size_t i = 0; i < n; i += kBatch) {
          for (size_t k = 0; k < kBatch; k++) v[k].value = i + k;
          for (size_t k = 0; k < kBatch;) k += queue.push(&v[k], kBatch - k);
        }
      },
      [&](size_t n) {
        std::vector<T> v(kBatch);
        uint64_t sum = 0;
        for (size_t i = 0; i < n;) {
          const size_t got = queue.pop(v.data(), kBatch);
          for (size_t k = 0; k < got; k++) sum += v[k].value;
          i += got;
        }
        return sum;
      });
}

// Transfers batches that are written and read in the slots, without copies.
template <class T>
double in_place(size_t capacity, size_t count) {
  Pushed<T> queue(capacity);
  auto& ring = queue.ring;
  return one_way(
      count,
      [&](size_t n) {
        for (size_t i = 0; i < n;) {
          const auto slots = ring.begin(std::min(kBatch, n - i));
          for (T& slot : slots) slot.value = i++;
          ring.commit(slots.size());
        }
      },
      [&](size_t n) {
        uint64_t sum = 0;
        for (size_t i = 0; i < n;) {
          const auto front = ring.peek(kBatch);
          for (const T& e : front) sum += e.value;
          ring.consume(front.size());
          i += front.size();
        }
        return sum;
      });
}

// Returns the nanoseconds of a round trip.
template <class Queue, class T>
double round_trip(size_t capacity, size_t count) {
  Queue there(capacity), back(capacity);
  const double seconds = together(
      [&] {
        typename Queue::Producer to(there);
        typename Queue::Consumer from(back);
        T v{};
        for (size_t i = 0; i < count; i++) {
          while (!to.push(v)) continue;
          to.flush();
          while (!from.pop(v)) continue;
        }
      },
      [&] {
        typename Queue::Consumer from(there);
        typename Queue::Producer to(back);
        T v;
        for (size_t i = 0; i < count; i++) {
          while (!from.pop(v)) continue;
          while (!to.push(v)) continue;
          to.flush();
        }
      });
  return seconds / static_cast<double>(count) * 1e9;
}

// The smallest possible time of a round trip on this machine under the current load.
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

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Measures both queues alternately. Each round has its own ratio, because the host of a virtual
// machine may move CPUs between rounds.
struct Pair {
  const char* name;
  double (*ours)(size_t, size_t);
  double (*boost)(size_t, size_t);
  size_t count;
  std::vector<double> a{}, b{}, ratio{};
};

template <size_t kBytes>
void compare(size_t capacity, size_t count) {
  using T = Element<kBytes>;
  constexpr size_t kTrips = 20'000;
  std::vector<Pair> pairs = {
      {"one by one, streamed", one_by_one<Streamed<T>, T>, one_by_one<Boost<T>, T>, count},
      {"one by one, visible at once", one_by_one<Pushed<T>, T>, one_by_one<Boost<T>, T>, count},
      {"batches of 64", batched<Pushed<T>, T>, batched<Boost<T>, T>, count},
      {"round trip, streamed", round_trip<Streamed<T>, T>, round_trip<Boost<T>, T>, kTrips},
      {"round trip, visible at once", round_trip<Pushed<T>, T>, round_trip<Boost<T>, T>, kTrips},
  };
  if (kBytes == 8)  // the producer would write only a part of larger elements
    pairs.push_back({"in place, 64 / one by one", in_place<T>, one_by_one<Boost<T>, T>, count});
  std::vector<double> flag;
  for (int round = 0; round < kRounds; round++) {
    flag.push_back(flag_round_trip(kTrips));
    for (Pair& p : pairs) {
      p.a.push_back(p.ours(capacity, p.count));
      p.b.push_back(p.boost(capacity, p.count));
      p.ratio.push_back(p.a.back() / p.b.back());
    }
  }
  fmt::print("{} bytes, capacity {}; a bare flag there and back: {:.0f} ns\n", kBytes, capacity,
             median(flag));
  for (const Pair& p : pairs) {
    const auto [low, high] = std::minmax_element(p.ratio.begin(), p.ratio.end());
    fmt::print("  {:<28} {:>8.1f} {:>8.1f}   {:>5.2f} {:>5.2f} {:>5.2f}\n", p.name, median(p.a),
               median(p.b), *low, median(p.ratio), *high);
  }
}

}  // namespace

int main() {
  fmt::print(
      "{} rounds by turns; one way in million elements/s, round trips in ns\n\n"
      "  {:<28} {:>17}   {:>17}\n"
      "  {:<28} {:>8} {:>8}   {:>5} {:>5} {:>5}\n",
      kRounds, "", "median", "ours / boost", "", "ours", "boost", "least", "med.", "most");
  compare<8>(1024, 1 << 21);
  compare<8>(65536, 1 << 22);
  compare<64>(1024, 1 << 19);
  compare<1024>(64, 1 << 16);
  return 0;
}
