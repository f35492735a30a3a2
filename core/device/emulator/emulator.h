// The emulated IPU: runs programs with kernels on the host's CPU.
#pragma once

#include <utility>
#include <vector>

#include "device/device.h"

namespace poprt::device {

class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(int64_t id = 0) : Device(id, 21) {}
  EmulatedDevice(std::vector<int64_t> ids, Properties properties)
      : Device(std::move(ids), properties) {}
  std::unique_ptr<Engine> load(const Image& image, const LoadOptions& options) override;
};

}  // namespace poprt::device
