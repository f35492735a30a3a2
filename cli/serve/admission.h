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
  // Admits up to `most` at a time. `what` names them in messages, in the plural.
  Admission(int64_t most, std::string what) : most_(most), what_(std::move(what)) {}

  // Throws Error: unavailable after stop().
  void check_open() const;
  // Admits `count` of them, or throws Error: unavailable, or resource_exhausted if that would be
  // too many; then `rejected` is increased, and none is admitted.
  void enter(int64_t count, std::atomic<uint64_t>& rejected);
  // The counterpart of enter(). The object may be destroyed when all have left.
  void leave(int64_t count = 1) { in_flight_ -= count; }
  int64_t in_flight() const { return in_flight_.load(); }
  // Admits none from now on.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_.load(); }

 private:
  const int64_t most_;
  const std::string what_;
  std::atomic<int64_t> in_flight_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace poprt::serve
