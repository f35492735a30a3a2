// Objects that the first use makes, without a lock.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace poprt {

// A constant that the first call of get() makes and that is never destroyed, because threads may
// use it while the process exits. It replaces a static variable of a function with an initializer
// that runs: if a process forks while another thread runs that initializer, the child waits for its
// end forever. Here no thread waits. Threads that call get() first at the same time may each make
// an object, of which all use the same one.
//
//   const Table& table() {
//     static constinit FirstUse<const Table> made;
//     return made.get([] { return Table(...); });
//   }
template <class T>
class FirstUse {
 public:
  template <class Make>
  T& get(Make&& make) {
    T* known = object_.load(std::memory_order_acquire);
    if (known) return *known;
    std::unique_ptr<T> mine(new T(std::forward<Make>(make)()));
    if (!object_.compare_exchange_strong(known, mine.get(), std::memory_order_acq_rel,
                                         std::memory_order_acquire))
      return *known;
    return *mine.release();
  }
  T& get() {
    return get([] { return T(); });
  }

 private:
  std::atomic<T*> object_{nullptr};
};

// Whether this is the first call for `done`.
inline bool is_first_use(std::atomic<bool>& done) noexcept {
  return !done.load(std::memory_order_relaxed) && !done.exchange(true, std::memory_order_relaxed);
}

}  // namespace poprt
