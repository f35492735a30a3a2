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

// The number of threads for LoadOptions::threads == 0. Throws invalid_argument if POPRT_THREADS is
// not a number from 1 to 1024.
int default_threads();
// The number of threads for LoadOptions::threads. Throws invalid_argument unless it is 0 (the
// default) or a number from 1 to 1024.
int threads_for(int wanted);

}  // namespace poprt::device
