// Decides whether a request is admitted: HTTP answers 429 if too many are in flight, and 503 while
// the server stops.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace poprt::serve {

// Thread-safe.
class Admission {
 public:
  // Admits up to `most` items at a time. `what` names the items in messages, such as "requests".
  Admission(int64_t most, std::string what) : most_(most), what_(std::move(what)) {}

  // Throws Error: unavailable after stop().
  void check_open() const;
  // Admits `count` items. Throws Error: unavailable after stop(); invalid_argument for several
  // items that are more than the limit, so that a repetition cannot succeed; resource_exhausted if
  // that would be too many, and then increments `rejected`. After an error, no item is admitted.
  void enter(int64_t count, std::atomic<uint64_t>& rejected);
  // Ends `count` admitted items. The object may be destroyed when no item is in flight.
  void leave(int64_t count = 1) { in_flight_ -= count; }
  int64_t in_flight() const { return in_flight_.load(); }
  // Makes later calls of check_open() and enter() throw unavailable.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_.load(); }

 private:
  const int64_t most_;
  const std::string what_;
  std::atomic<int64_t> in_flight_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace poprt::serve
