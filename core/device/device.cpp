#include "device/device.h"

#include <mutex>

#include "base/error.h"

namespace poprt::device {
namespace {

// The occupant of a device that acquire() has taken.
struct Anyone final : Occupant {
  void evict() noexcept override {}
};
Anyone anyone;

}  // namespace

void Device::bind(Occupant& session, bool exclusive) {
  const std::lock_guard lock(mutex_);
  if (mutex_.abandoned())
    fail(
        ErrorCode::failed_precondition,
        "process {} was forked while another thread of its parent assigned device {}: take another "
        "device",
        this_process(), id());
  Occupant* const before = occupant_.load(std::memory_order_relaxed);
  if (before == &session) {
    exclusive_ = exclusive;
    return;
  }
  if (before) {
    if (exclusive_)
      fail(ErrorCode::failed_precondition, "device {} is in use by another session", id());
    // From here on, a load of that session which is not finished fails, and evict() ends a finished
    // one.
    occupant_.store(nullptr, std::memory_order_release);
    before->evict();
  }
  exclusive_ = exclusive;
  occupant_.store(&session, std::memory_order_release);
}

void Device::unbind(Occupant& session) noexcept {
  const std::lock_guard lock(mutex_);
  if (occupant_.load(std::memory_order_relaxed) == &session)
    occupant_.store(nullptr, std::memory_order_release);
}

bool Device::acquire() noexcept {
  const std::lock_guard lock(mutex_);
  if (mutex_.abandoned() || occupant_.load(std::memory_order_relaxed)) return false;
  exclusive_ = true;
  occupant_.store(&anyone, std::memory_order_release);
  return true;
}

void Device::release() noexcept { unbind(anyone); }

}  // namespace poprt::device
