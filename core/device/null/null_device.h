// A device that checks programs but computes nothing and does not write outputs. It serves to
// measure everything around a device, and as a template for other devices.
#pragma once

#include "device/device.h"

namespace poprt::device {

class NullDevice final : public Device {
 public:
  explicit NullDevice(int64_t id = 0) : Device(id, 0) {}
  std::unique_ptr<Engine> load(const Image& image, const LoadOptions& options) override;
};

}  // namespace poprt::device
