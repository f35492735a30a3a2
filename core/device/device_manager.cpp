#include "device/device_manager.h"

#include <mutex>
#include <vector>

#include "base/error.h"
#include "device/emulator/emulator.h"
#include "device/environment.h"

namespace poprt::device {
namespace {

constexpr int64_t kDefaultDevices = 4;
constexpr int64_t kMaxDevices = 1024;

// Who holds which device. Never destroyed: devices may be released while the process exits.
struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Device>> devices;

  // Null when it is busy.
  std::shared_ptr<Device> try_acquire(int64_t id) {
    const auto index = static_cast<size_t>(id);
    if (devices.size() <= index) devices.resize(index + 1);
    if (!devices[index].expired()) return nullptr;
    auto device = std::make_shared<EmulatedDevice>(id);
    devices[index] = device;
    return device;
  }
};

Registry& registry() {
  static auto* const r = new Registry;
  return *r;
}

}  // namespace

DeviceManager::DeviceManager(int64_t device_count) : count_(device_count) {
  if (count_ == 0)
    count_ = environment_int("POPRT_DEVICES", 1, kMaxDevices).value_or(kDefaultDevices);
  if (count_ < 1 || count_ > kMaxDevices)
    fail(ErrorCode::invalid_argument, "device count must be 1 to {}, given {}", kMaxDevices,
         count_);
}

std::shared_ptr<Device> DeviceManager::get_device(int64_t num_ipus) const {
  if (num_ipus < 1)
    fail(ErrorCode::invalid_argument, "a device has at least 1 IPU, asked for {}", num_ipus);
  if (num_ipus > 1)
    fail(ErrorCode::unimplemented, "devices have 1 IPU each, asked for one of {}", num_ipus);
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (int64_t id = 0; id < count_; id++)
    if (auto device = r.try_acquire(id)) return device;
  fail(ErrorCode::unavailable,
       "all {} devices are busy: free a runner or device, or set POPRT_DEVICES higher", count_);
}

std::shared_ptr<Device> DeviceManager::get_specific_device(int64_t id) const {
  if (id < 0 || id >= count_)
    fail(ErrorCode::not_found, "there is no device {}: ids are 0 to {}", id, count_ - 1);
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (auto device = r.try_acquire(id)) return device;
  fail(ErrorCode::unavailable, "device {} is busy: free its runner or handle first", id);
}

}  // namespace poprt::device
