// Reads the fields of option structs about waiting for a device.
#pragma once

#include <chrono>

#include "base/error.h"
#include "device/device_manager.h"
#include "poprt/device.h"

namespace poprt::capi {

// Throws invalid_argument for an unknown strategy and negative times.
inline device::WaitConfig read_wait(poprt_wait_strategy strategy, int64_t timeout_ns,
                                    int64_t sleep_ns) {
  if (strategy < POPRT_NO_WAIT || strategy > POPRT_WAIT_FOREVER)
    fail(ErrorCode::invalid_argument, "wait_strategy must be 0 to 2, given {}", strategy);
  if (timeout_ns < 0 || sleep_ns < 0)
    fail(ErrorCode::invalid_argument, "wait_timeout_ns and wait_sleep_ns must not be negative");
  device::WaitConfig wait(static_cast<device::WaitStrategy>(strategy),
                          std::chrono::nanoseconds(timeout_ns));
  if (sleep_ns != 0) wait.sleep_time = std::chrono::nanoseconds(sleep_ns);
  return wait;
}

}  // namespace poprt::capi
