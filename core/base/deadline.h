// Points of time that no timeout of a caller can overflow.
#pragma once

#include <algorithm>
#include <chrono>

namespace poprt {

// `start` + `wait`, or the last point of the clock if the sum is beyond it. A negative wait is 0.
template <class TimePoint>
constexpr TimePoint deadline_after(TimePoint start, std::chrono::nanoseconds wait) noexcept {
  if (wait >= TimePoint::max() - start) return TimePoint::max();
  return start + std::max(wait, std::chrono::nanoseconds(0));
}

}  // namespace poprt
