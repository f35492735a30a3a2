// A lock-free ring for one producer thread and one consumer thread.
//
//   producer                                             consumer
//   try_push / begin + commit                            try_pop / peek + consume
//        │ writes slots, then                                 │ reads slots, then
//        ▼                                                    ▼
//   ┌─ tail line ───────────────┐  slots: T[capacity]   ┌─ head line ─┐
//   │ tail │ newest element × 2 │  [..][h]......[t][..] │ head        │
//   └──────────── read by consumer                      └── read by producer
//
// Indices are 64-bit, only grow, and are masked on use: full (tail - head == capacity) and empty
// (tail == head) never look alike, every slot is usable, and they do not wrap in the life of a
// machine. What is pushed is visible at once; nothing has to be flushed.
//
// What makes it fast, in the order of what it is worth:
//  1. Each side keeps its own index and its last view of the other's in a line that nobody else
//     touches, and looks at the other's line only when that view does not suffice.
//  2. A side that has used up what its last look showed rests a moment (some 50 ns) before it
//  looks
//     again. Otherwise a consumer that keeps up takes the tail line from the producer for every
//     element, and both run at the speed of that line's travel; now one travel shows many elements.
//     A look that showed nothing is not followed by a rest, so waiting for an answer is not slowed:
//     the rest passes while the other side is still at work.
//  3. A small element pushed on its own is also written beside the tail. A consumer that waits for
//     it gets index and element with one line instead of two. Two places alternate: the one that
//     belongs to tail t is not written again before tail t + 1 is published, so a consumer that
//     still sees tail t after it has copied the element has copied all of it, and otherwise takes
//     it from its slot.
//  4. A consumer fetches several lines of published slots at a time; one after the other, each
//  would
//     cost a trip to the producer's cache.
//
// Memory order: storing an index is a release that pairs with the other side's acquire of it;
// slots themselves are plain memory. Wait-free on both sides: every call ends after a bounded
// number of steps. Nothing allocates after construction. Waiting for room or elements is
// waiter.h's.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace poprt::runtime {

template <class T>
class RingBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Capacity is `at_least` rounded up to a power of two, and at least 1.
  explicit RingBuffer(size_t at_least)
      : mask_(std::bit_ceil(std::max<size_t>(at_least, 1)) - 1), slots_(new T[mask_ + 1]()) {}
  RingBuffer(const RingBuffer&) = delete;
  RingBuffer& operator=(const RingBuffer&) = delete;

  size_t capacity() const noexcept { return mask_ + 1; }

  // Elements that are waiting: for the consumer at least so many, for the producer at most; any
  // thread may ask.
  size_t size() const noexcept {
    const uint64_t head = head_.load(std::memory_order_acquire);
    return static_cast<size_t>(published_.tail.load(std::memory_order_acquire) - head);
  }
  bool empty() const noexcept { return size() == 0; }

  // Producer: up to `wanted` neighbouring free slots (fewer at the end of the storage or when the
  // ring is nearly full, none when it is full). Nothing is visible before commit().
  std::span<T> begin(size_t wanted = 1) noexcept {
    return window(producer_.own, std::min<uint64_t>(room(wanted), wanted));
  }
  // Producer: the first `n` slots of the last begin() are filled.
  void commit(size_t n = 1) noexcept {
    if (n == 1) show_newest(producer_.own + 1, slots_[producer_.own & mask_]);
    producer_.own += n;
    published_.tail.store(producer_.own, std::memory_order_release);  // pairs with waiting()
  }
  bool try_push(const T& value) noexcept {
    if (room(1) == 0) return false;
    slots_[producer_.own & mask_] = value;
    commit(1);
    return true;
  }

  // Consumer: neighbouring waiting elements, oldest first, up to `wanted`; empty when there is
  // none.
  std::span<const T> peek(size_t wanted = SIZE_MAX) noexcept {
    return window(consumer_.own, std::min<uint64_t>(waiting(wanted), wanted));
  }
  // Consumer: gives the first `n` elements' slots back.
  void consume(size_t n = 1) noexcept {
    consumer_.own += n;
    head_.store(consumer_.own, std::memory_order_release);  // pairs with room()
  }
  bool try_pop(T& value) noexcept {
    const uint64_t head = consumer_.own;
    const bool known = consumer_.other != head;
    if (!known && waiting(1) == 0) return false;
    // One new element was published by a commit(1), which has shown it.
    if (known || consumer_.other - head != 1 || !read_newest(consumer_.other, value)) {
      fetch_ahead(head, known);
      value = slots_[head & mask_];
    }
    consume(1);
    return true;
  }

 private:
  static constexpr size_t kLine = 128;  // processors fetch lines of 64 bytes in pairs
  // Beside the tail there is room for two of this size.
  static constexpr bool kShown = sizeof(T) <= 24;
  static constexpr size_t kWords = kShown ? (sizeof(T) + 7) / 8 : 0;
  static constexpr uint64_t kLinesAhead = 8;
  static constexpr int kRest = 8;  // pauses

  struct alignas(kLine) Published {
    std::atomic<uint64_t> tail{0};
    // Of tail t in newest[t & 1]; atomic because a late consumer may read while it is written.
    std::array<std::array<std::atomic<uint64_t>, kWords>, 2> newest{};
  };
  struct alignas(kLine) Side {
    uint64_t own = 0;    // as published
    uint64_t other = 0;  // when last looked at
    int stream = 0;      // looks in a row that showed something new, up to 2
  };

  static void rest(const Side& side) noexcept {
    if (side.stream < 2) return;
    for (int i = 0; i < kRest; i++) {
#if defined(__x86_64__)
      _mm_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  }
  uint64_t room(uint64_t wanted) noexcept {
    const uint64_t known = capacity() - (producer_.own - producer_.other);
    if (known >= wanted) [[likely]]
      return known;
    rest(producer_);
    producer_.other = head_.load(std::memory_order_acquire);  // pairs with consume()
    const uint64_t now = capacity() - (producer_.own - producer_.other);
    producer_.stream = now == known ? 0 : std::min(producer_.stream + 1, 2);
    return now;
  }
  uint64_t waiting(uint64_t wanted) noexcept {
    const uint64_t known = consumer_.other - consumer_.own;
    if (known >= wanted) [[likely]]
      return known;
    rest(consumer_);
    consumer_.other = published_.tail.load(std::memory_order_acquire);  // pairs with commit()
    const uint64_t now = consumer_.other - consumer_.own;
    consumer_.stream = now == known ? 0 : std::min(consumer_.stream + 1, 2);
    return now;
  }

  // Starts to move lines of published slots here before they are needed, several at a time.
  void fetch_ahead(uint64_t head, bool known) const noexcept {
    constexpr uint64_t kPerLine = sizeof(T) < 64 ? 64 / sizeof(T) : 1;
    constexpr uint64_t kAhead = kLinesAhead * kPerLine;
    if constexpr (sizeof(T) > 64) return;
    const uint64_t end = consumer_.other;
    if (!known) {
      for (uint64_t at = head + kPerLine; at < end && at < head + kAhead; at += kPerLine)
        __builtin_prefetch(&slots_[at & mask_]);
    } else if (head % kPerLine == 0 && head + kAhead < end) {
      __builtin_prefetch(&slots_[(head + kAhead) & mask_]);
    }
  }

  void show_newest([[maybe_unused]] uint64_t tail, [[maybe_unused]] const T& value) noexcept {
    if constexpr (kShown) {
      std::array<uint64_t, kWords> words{};
      std::memcpy(words.data(), &value, sizeof(T));
      // After the last tail: whoever sees one of these words sees that tail, too.
      std::atomic_thread_fence(std::memory_order_release);
      auto& to = published_.newest[tail & 1];
      for (size_t i = 0; i < kWords; i++) to[i].store(words[i], std::memory_order_relaxed);
    }
  }
  // False when the producer went on meanwhile.
  bool read_newest([[maybe_unused]] uint64_t tail, [[maybe_unused]] T& value) const noexcept {
    if constexpr (kShown) {
      std::array<uint64_t, kWords> words;
      const auto& from = published_.newest[tail & 1];
      for (size_t i = 0; i < kWords; i++) words[i] = from[i].load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (published_.tail.load(std::memory_order_relaxed) != tail) return false;
      std::memcpy(static_cast<void*>(&value), words.data(), sizeof(T));
      return true;
    } else {
      return false;
    }
  }

  std::span<T> window(uint64_t from, uint64_t count) const noexcept {
    const size_t at = static_cast<size_t>(from) & mask_;
    return {slots_.get() + at, std::min(static_cast<size_t>(count), capacity() - at)};
  }

  Published published_;                           // written by the producer
  alignas(kLine) std::atomic<uint64_t> head_{0};  // written by the consumer
  Side producer_, consumer_;                      // private to each
  alignas(kLine) const size_t mask_;
  const std::unique_ptr<T[]> slots_;
};

}  // namespace poprt::runtime
