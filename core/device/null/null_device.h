// A device that does nothing: checks programs, leaves outputs as they are. For measuring everything
// around a device, and the one to copy when writing another.
#pragma once

#include "device/device.h"

namespace poprt::device {

class NullDevice final : public Device {
 public:
  explicit NullDevice(int64_t id = 0) : Device(id, 0) {}
  std::unique_ptr<Engine> load(const Image& image, const LoadOptions& options) override;
};

}  // namespace poprt::device
