// A lock-free ring for one producer thread and one consumer thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace poprt::runtime {

// Indices only grow and are masked on use, so full and empty never look alike. Each side keeps its
// last view of the other's index and looks again only when that view does not suffice. Never blocks
// and never allocates after construction; see waiter.h for waiting.
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

  // Elements that are waiting. Exact for the consumer as a lower bound, for the producer as an
  // upper bound; any thread may ask.
  size_t size() const noexcept {
    const uint64_t head = consumer_.index.load(std::memory_order_acquire);
    return static_cast<size_t>(producer_.index.load(std::memory_order_acquire) - head);
  }
  bool empty() const noexcept { return size() == 0; }

  // Producer: up to `wanted` neighbouring free slots (fewer at the end of the storage or when the
  // ring is nearly full, none when it is full). Nothing is visible before commit().
  std::span<T> begin(size_t wanted = 1) noexcept {
    const uint64_t tail = producer_.index.load(std::memory_order_relaxed);
    if (capacity() - (tail - producer_.other) < wanted)
      producer_.other = consumer_.index.load(std::memory_order_acquire);
    const uint64_t free = capacity() - (tail - producer_.other);
    return window(tail, std::min<uint64_t>(free, wanted));
  }
  // Producer: the first `n` slots of the last begin() are filled.
  void commit(size_t n = 1) noexcept {
    const uint64_t tail = producer_.index.load(std::memory_order_relaxed);
    producer_.index.store(tail + n, std::memory_order_release);  // pairs with peek()
  }
  bool try_push(const T& value) noexcept {
    const std::span<T> slot = begin(1);
    if (slot.empty()) return false;
    slot[0] = value;
    commit(1);
    return true;
  }

  // Consumer: neighbouring waiting elements, oldest first, up to `wanted`; empty when there is
  // none.
  std::span<const T> peek(size_t wanted = SIZE_MAX) noexcept {
    const uint64_t head = consumer_.index.load(std::memory_order_relaxed);
    if (consumer_.other - head < wanted)
      consumer_.other = producer_.index.load(std::memory_order_acquire);
    return window(head, std::min<uint64_t>(consumer_.other - head, wanted));
  }
  // Consumer: gives the first `n` elements' slots back.
  void consume(size_t n = 1) noexcept {
    const uint64_t head = consumer_.index.load(std::memory_order_relaxed);
    consumer_.index.store(head + n, std::memory_order_release);  // pairs with begin()
  }
  bool try_pop(T& value) noexcept {
    const std::span<const T> front = peek(1);
    if (front.empty()) return false;
    value = front[0];
    consume(1);
    return true;
  }

 private:
  // One side's index, and its last view of the other side's. On a cache line of its own.
  struct alignas(64) Side {
    std::atomic<uint64_t> index{0};
    uint64_t other = 0;
  };

  std::span<T> window(uint64_t from, uint64_t count) const noexcept {
    const size_t at = static_cast<size_t>(from) & mask_;
    return {slots_.get() + at, std::min(static_cast<size_t>(count), capacity() - at)};
  }

  Side producer_, consumer_;
  alignas(64) const size_t mask_;
  const std::unique_ptr<T[]> slots_;
};

}  // namespace poprt::runtime
