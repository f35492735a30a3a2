// Reports an index outside its tensor as a failure of the run (Plan::take_failure). The hot loop of
// a kernel reads a zero for such an index or writes nothing, and only then calls found().
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace poprt::kernels {

class Outside {
 public:
  // `what` names the number in the message, for example "index". The valid numbers are
  // [-size, size) with `from_end`, and otherwise [0, size).
  explicit Outside(std::string_view what = "index", bool from_end = true)
      : what_(what), from_end_(from_end) {}

  bool wanted = false;  // whether the program wants an error; older programs do not

  // Records the number at `place` of the index operand. If there are several calls, the number at
  // the first place is reported, whatever their order. Any thread may call it during a run.
  [[gnu::cold, gnu::noinline]] void found(int64_t place, int64_t index,
                                          int64_t size) const noexcept {
    if (!wanted) return;
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
    if (place < place_) {
      place_ = place;
      index_ = index;
      size_ = size;
    }
    busy_.clear(std::memory_order_release);
  }

  // Returns the failure of the runs since the last call, if there was one, and forgets it. Called
  // between runs.
  std::optional<Error> take() const {
    if (place_ == kNone) [[likely]]
      return std::nullopt;
    Error error(ErrorCode::out_of_range,
                fmt::format("{} {} at place {} is outside [{}, {}]", what_, index_, place_,
                            from_end_ ? -size_ : 0, size_ - 1));
    place_ = kNone;
    return error;
  }

  // For Plan::take_failure of a kernel whose parameters have a member `outside`.
  template <class Params>
  static std::optional<Error> take_of(const void* params) {
    return static_cast<const Params*>(params)->outside.take();
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  std::string_view what_;
  bool from_end_;
  mutable std::atomic_flag busy_;  // guards the next three while a run is in progress
  mutable int64_t place_ = kNone, index_ = 0, size_ = 0;
};

}  // namespace poprt::kernels
