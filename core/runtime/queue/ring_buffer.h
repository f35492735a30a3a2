// A lock-free ring for one producer thread and one consumer thread.
//
//   producer                                             consumer
//   try_push / begin + commit                            try_pop / peek + consume
//        │ writes slots, then                                 │ reads slots, then
//        ▼                                                    ▼
//   ┌─ tail ────┐ ┌─ coarse tail ─┐                     ┌─ head ────┐ ┌─ coarse head ─┐
//   │ every     │ │ now and then  │  slots: T[capacity] │ every     │ │ now and then  │
//   │ element   │ │               │  [..][h]....[t][..] │ element   │ │               │
//   └────────── read by consumer ─┘                     └────────── read by producer ─┘
//
// Indices have 64 bits, only grow, and are masked on use. So full (tail - head == capacity) and
// empty (tail == head) differ, every slot is usable, and indices never wrap in practice.
//
// There are two ways to use it, which may be mixed:
//  - try_push / try_pop: an element at a time, visible at once.
//  - begin + commit / peek + consume: several at a time, in place.
//
// Its speed comes from the following, most important first:
//   1. Each side keeps its own index and its last copy of the other's index in a cache line that
//      the other side does not access. It reads the other's lines only if the copy is not
//      sufficient. A call that does not read them compares two words, moves the element and
//      stores its index twice.
//   2. A processor makes stores visible in order, and combines them only while they go to one
//      line in ascending order. An index store after each element would delay the elements, so
//      commit() publishes several elements at once.
//   3. A line that both sides use moves between caches for each use, and the side that writes it
//      stalls. So a side that found many elements at its last look polls the coarse index, which
//      its owner writes once for many elements. It reads the exact index only if the coarse one
//      has not changed for 64 pauses. A side that found few elements polls the exact index, so
//      that it notices a single element immediately.
//   4. A consumer prefetches lines of published slots well before it needs them, several at a
//      time. One after the other, each would wait for the producer's cache.
//
// Memory order: the store of an index is a release that pairs with the other side's acquire; slots
// are plain memory. Both sides are wait-free: every call ends after a bounded number of steps.
// Nothing is allocated after construction. waiter.h waits for space or elements.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "base/pause.h"

namespace poprt::runtime {

template <class T>
class RingBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // The capacity is `at_least`, rounded up to a power of two.
  explicit RingBuffer(size_t at_least)
      : mask_(std::bit_ceil(std::max<size_t>(at_least, 1)) - 1), slots_(new T[mask_ + 1]()) {
    producer_.step = std::clamp<uint64_t>(capacity() / 4, 1, kTailStep);
    consumer_.step = std::max<uint64_t>(capacity() / 4, 1);
  }
  RingBuffer(const RingBuffer&) = delete;
  RingBuffer& operator=(const RingBuffer&) = delete;

  size_t capacity() const noexcept { return mask_ + 1; }

  // The number of waiting elements. For the consumer it is a lower bound, for the producer an upper
  // bound. Any thread may call it.
  size_t size() const noexcept {
    const uint64_t head = head_.exact.load(std::memory_order_acquire);
    return static_cast<size_t>(tail_.exact.load(std::memory_order_acquire) - head);
  }
  bool empty() const noexcept { return size() == 0; }

  // Producer: returns up to `wanted` contiguous free slots: fewer at the end of the storage or if
  // the ring is nearly full, none if it is full. Nothing is visible before commit().
  std::span<T> begin(size_t wanted = 1) noexcept {
    if (room() < wanted) look(producer_, head_);
    return window(producer_.own, std::min<uint64_t>(room(), wanted));
  }
  // Producer: publishes the first `n` slots of the last begin(), which must be filled.
  void commit(size_t n = 1) noexcept {
    producer_.own += n;
    tail_.exact.store(producer_.own, std::memory_order_release);  // pairs with look()
    publish_coarse(producer_, tail_);
  }
  bool try_push(const T& value) noexcept {
    const uint64_t own = producer_.own;
    if (own >= producer_.limit && !more_room()) [[unlikely]]
      return false;
    slots_[own & mask_] = value;
    producer_.own = own + 1;
    tail_.exact.store(own + 1, std::memory_order_release);  // pairs with look()
    return true;
  }

  // Consumer: returns up to `wanted` contiguous waiting elements, oldest first; empty if there are
  // none.
  std::span<const T> peek(size_t wanted = SIZE_MAX) noexcept {
    if (waiting() < wanted) look(consumer_, tail_);
    const auto front = window(consumer_.own, std::min<uint64_t>(waiting(), wanted));
    if constexpr (sizeof(T) <= 64)
      for (uint64_t i = front.size(), end = std::min(waiting(), i + kAhead); i < end; i += kPerLine)
        __builtin_prefetch(&slots_[(consumer_.own + i) & mask_]);
    return front;
  }
  // Consumer: frees the slots of the first `n` elements.
  void consume(size_t n = 1) noexcept {
    consumer_.own += n;
    head_.exact.store(consumer_.own, std::memory_order_release);  // pairs with look()
    publish_coarse(consumer_, head_);
  }
  bool try_pop(T& value) noexcept {
    const uint64_t own = consumer_.own;
    if (own >= consumer_.limit && !more_elements()) [[unlikely]]
      return false;
    value = slots_[own & mask_];
    consumer_.own = own + 1;
    head_.exact.store(own + 1, std::memory_order_release);  // pairs with look()
    return true;
  }

 protected:  // for rings that are derived from this one (tests/bench/streamed_ring.h)
  static constexpr size_t kLine = 128;  // processors fetch lines of 64 bytes in pairs
  static constexpr uint64_t kPerLine = sizeof(T) < 64 ? 64 / sizeof(T) : 1;
  static constexpr uint64_t kAhead = 16 * kPerLine;  // prefetch distance
  static constexpr uint64_t kTailStep = 256;         // largest Side::step of the producer
  static constexpr uint64_t kMany = 16;
  static constexpr int kPatience = 64;  // pauses, of 27 ns on Zen 4

  struct Index {
    alignas(kLine) std::atomic<uint64_t> exact{0};
    alignas(kLine) std::atomic<uint64_t> coarse{0};
  };
  struct alignas(kLine) Side {
    uint64_t own = 0;         // own index, as published
    uint64_t limit = 0;       // try_push, try_pop: below it only the element needs to be moved
    uint64_t other = 0;       // index of the other side at the last look
    uint64_t coarse_own = 0;  // the last coarse index, rounded down to a multiple of `step`
    uint64_t step = 1;        // distance between coarse indices; a power of two
    uint64_t found = 0;       // increase of `other` when the exact index was last read
  };

  uint64_t room() const noexcept { return capacity() - (producer_.own - producer_.other); }
  uint64_t waiting() const noexcept { return consumer_.other - consumer_.own; }

  static void publish_coarse(Side& side, Index& index) noexcept {
    if (side.own - side.coarse_own < side.step) return;
    side.coarse_own = side.own & ~(side.step - 1);
    index.coarse.store(side.own, std::memory_order_release);  // pairs with look()
  }
  // Updates side.other: from the coarse index if the last look at the exact index found many
  // elements and the coarse index changes soon, otherwise from the exact index.
  static void look(Side& side, const Index& index) noexcept {
    const uint64_t known = side.other;
    if (side.found >= kMany) {
      for (int i = 0; i < kPatience && side.other <= known; i++, spin_pause())
        side.other = std::max(known, index.coarse.load(std::memory_order_acquire));
      if (side.other != known) return;
    }
    side.other = index.exact.load(std::memory_order_acquire);
    side.found = side.other - known;
  }

  // This and the next function are not inlined: clang -O2 would make loops over elements of 64 and
  // 1024 bytes less than half as fast (ring_bench).
  [[gnu::noinline]] bool more_room() noexcept {
    publish_coarse(producer_, tail_);
    if (room() == 0) look(producer_, head_);
    if (room() == 0) return false;
    // At this limit more_room() is called again, because the coarse tail must be published.
    producer_.limit = producer_.own + std::min(room(), producer_.step);
    return true;
  }
  [[gnu::noinline]] bool more_elements() noexcept {
    publish_coarse(consumer_, head_);
    const bool fresh = waiting() == 0;
    if (fresh) look(consumer_, tail_);
    consumer_.limit = fetch(fresh);
    return consumer_.limit != consumer_.own;
  }
  // Returns the next consumer_.limit: the position up to which try_pop() does not call
  // more_elements(). Prefetches the slots that follow.
  uint64_t fetch(bool fresh) noexcept {
    const uint64_t at = consumer_.own, count = waiting();
    // The hardware prefetcher handles a stream of large elements.
    if constexpr (sizeof(T) > 64) return at + std::min(count, consumer_.step);
    for (uint64_t i = fresh ? kPerLine : kAhead; i <= kAhead && i < count; i += kPerLine)
      __builtin_prefetch(&slots_[(at + i) & mask_]);
    return at + std::min(count, kPerLine);
  }

  std::span<T> window(uint64_t from, uint64_t count) const noexcept {
    const size_t at = static_cast<size_t>(from) & mask_;
    return {slots_.get() + at, std::min(static_cast<size_t>(count), capacity() - at)};
  }

  Index tail_;                // written by the producer
  Index head_;                // written by the consumer
  Side producer_, consumer_;  // private to each
  alignas(kLine) const size_t mask_;
  const std::unique_ptr<T[]> slots_;
};

}  // namespace poprt::runtime
