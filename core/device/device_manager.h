// Hands out the emulated devices of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "device/device.h"

namespace poprt::device {

// All managers of a process see the same devices. A device is free when nobody holds its pointer.
// Thread-safe.
class DeviceManager {
 public:
  // device_count 0: POPRT_DEVICES from the environment, else 4. Throws invalid_argument unless 1 to
  // 1024.
  explicit DeviceManager(int64_t device_count = 0);

  int64_t device_count() const noexcept { return count_; }
  // What the emulator stands for: a Bow IPU.
  static constexpr const char* ipu_hardware_version() { return "ipu21"; }

  // The first free device. Throws unavailable when all are busy, invalid_argument when num_ipus <
  // 1, unimplemented when num_ipus > 1.
  std::shared_ptr<Device> get_device(int64_t num_ipus = 1) const;
  // Throws not_found for an id outside [0, device_count), unavailable when it is busy.
  std::shared_ptr<Device> get_specific_device(int64_t id) const;

 private:
  int64_t count_;
};

}  // namespace poprt::device
