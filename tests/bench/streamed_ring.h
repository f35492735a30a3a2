// A ring whose elements become visible in groups. It measures the possible gain over a queue of
// single elements. The runtime's queues show each element at once, because a thread waits for it;
// several elements at once use begin() and commit().
//
// An index that is written with each element delays the elements (ring_buffer.h, 2). A Writer keeps
// its index in a register and publishes elements in groups of 1, 2, 4 ... kTailStep since the last
// flush(). Short bursts therefore arrive early, and long ones are limited only by the slots.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/queue/ring_buffer.h"

namespace poprt::runtime {

template <class T>
class StreamedRing : public RingBuffer<T> {
 public:
  using RingBuffer<T>::RingBuffer;

  // For the producer: a stream of single elements. While it exists, the producer must not call
  // other functions. Elements become visible in groups. flush(), a full ring and the destructor
  // make all elements visible.
  class Writer {
   public:
    explicit Writer(StreamedRing& ring) noexcept
        : ring_(&ring),
          slots_(ring.slots_.get()),
          mask_(ring.mask_),
          own_(ring.producer_.own),
          limit_(own_) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() { flush(); }

    bool try_push(const T& value) noexcept {
      if (own_ == limit_) [[unlikely]] {
        limit_ = ring_->next_group(own_);
        if (own_ == limit_) return false;
      }
      slots_[own_++ & mask_] = value;
      return true;
    }
    void flush() noexcept {
      ring_->show(own_);
      ring_->group_ = 1;
      limit_ = own_;
    }

   private:
    StreamedRing* const ring_;  // receives copies of own_, so own_ can stay in a register
    T* const slots_;
    const uint64_t mask_;
    uint64_t own_, limit_;
  };

  // For the consumer: a stream of single elements. While it exists, the consumer must not call
  // other functions. Slots are returned a quarter of the capacity at a time, and all of them when
  // no element is waiting and in the destructor.
  class Reader {
   public:
    explicit Reader(StreamedRing& ring) noexcept
        : ring_(&ring),
          slots_(ring.slots_.get()),
          mask_(ring.mask_),
          own_(ring.consumer_.own),
          limit_(own_) {}
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() { ring_->give_back(own_); }

    bool try_pop(T& value) noexcept {
      if (own_ == limit_) [[unlikely]] {
        limit_ = ring_->next_elements(own_);
        if (own_ == limit_) return false;
      }
      value = slots_[own_++ & mask_];
      return true;
    }

   private:
    StreamedRing* const ring_;
    const T* const slots_;
    const uint64_t mask_;
    uint64_t own_, limit_;
  };

 private:
  // Functions for Writer and Reader, which pass their index and receive the limit up to which they
  // may go.
  void show(uint64_t own) noexcept {
    this->producer_.own = own;
    if (this->tail_.exact.load(std::memory_order_relaxed) == own) return;  // avoids a write
    this->tail_.exact.store(own, std::memory_order_release);               // pairs with look()
    this->publish_coarse(this->producer_, this->tail_);
  }
  [[gnu::noinline]] uint64_t next_group(uint64_t own) noexcept {
    show(own);
    if (this->room() == 0) this->look(this->producer_, this->head_);
    const uint64_t count = std::min(this->room(), group_);
    group_ = std::min(group_ * 2, this->producer_.step);
    return own + count;
  }
  void give_back(uint64_t own) noexcept {
    this->consumer_.own = own;
    if (this->head_.exact.load(std::memory_order_relaxed) == own) return;
    this->head_.exact.store(own, std::memory_order_release);  // pairs with look()
    this->publish_coarse(this->consumer_, this->head_);
  }
  [[gnu::noinline]] uint64_t next_elements(uint64_t own) noexcept {
    this->consumer_.own = own;
    const bool fresh = this->waiting() == 0;
    if (fresh || own - this->consumer_.coarse_own >= this->consumer_.step) give_back(own);
    if (fresh) this->look(this->consumer_, this->tail_);
    return this->fetch(fresh);
  }

  uint64_t group_ = 1;  // elements that a Writer shows together next
};

}  // namespace poprt::runtime
