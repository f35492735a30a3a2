// Devices and device managers, with the names of Model Runtime.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "poprt/device.h"
#include "poprt/error.hpp"
#include "poprt/executable.hpp"
#include "poprt/popef.hpp"

namespace model_runtime {

using ::poprt::Executable;

class Device {
 public:
  explicit Device(poprt_device* handle) : handle_(handle) {}  // takes ownership
  int64_t id() const { return poprt_device_id(handle_.get()); }
  int32_t ipuVersion() const { return poprt_device_ipu_version(handle_.get()); }
  int64_t numIpus() const { return poprt_device_num_ipus(handle_.get()); }
  int64_t tilesPerIpu() const { return poprt_device_tiles_per_ipu(handle_.get()); }
  bool isIpuModel() const { return poprt_device_is_ipu_model(handle_.get()) != 0; }
  poprt_device* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(poprt_device* d) const { poprt_device_free(d); }
  };
  std::unique_ptr<poprt_device, Free> handle_;
};

enum class DeviceWaitStrategy : int32_t {
  NO_WAIT = POPRT_NO_WAIT,
  WAIT_WITH_TIMEOUT = POPRT_WAIT_WITH_TIMEOUT,
  WAIT_FOREVER = POPRT_WAIT_FOREVER,
};

// The behaviour of a request if all suitable devices are busy.
struct DeviceWaitConfig {
  DeviceWaitConfig() = default;
  explicit DeviceWaitConfig(DeviceWaitStrategy s, std::chrono::nanoseconds limit = {},
                            std::chrono::nanoseconds sleep = std::chrono::seconds(15))
      : strategy(s), timeout(limit), sleepTime(sleep) {}
  explicit DeviceWaitConfig(std::chrono::nanoseconds limit,
                            std::chrono::nanoseconds sleep = std::chrono::seconds(15))
      : DeviceWaitConfig(DeviceWaitStrategy::WAIT_WITH_TIMEOUT, limit, sleep) {}
  // PopRT's constructor, in seconds.
  DeviceWaitConfig(int64_t timeoutSec, int64_t sleepTimeSec)
      : DeviceWaitConfig(duration(timeoutSec), duration(sleepTimeSec)) {}

  DeviceWaitStrategy strategy = DeviceWaitStrategy::NO_WAIT;
  std::chrono::nanoseconds timeout{0};
  std::chrono::nanoseconds sleepTime = std::chrono::seconds(15);  // between checks; 0: 1 ms

  // The sleep for an option of the C interface, where 0 means its default.
  int64_t rawSleepNs() const {
    const bool waits = strategy != DeviceWaitStrategy::NO_WAIT;
    return waits && sleepTime.count() == 0 ? 1 : sleepTime.count();
  }

 private:
  // Returns the longest duration if `seconds` is larger.
  static std::chrono::nanoseconds duration(int64_t seconds) {
    constexpr int64_t most = INT64_MAX / 1'000'000'000;
    if (seconds > most) return std::chrono::nanoseconds::max();
    return std::chrono::seconds(seconds < -most ? -most : seconds);
  }
};

struct DeviceConstraints {
  int32_t ipuVersion = 0;  // 0: any
  int64_t minTiles = 0;    // per IPU
  bool requiresRemoteBuffers = false;
};

// The devices of a manager.
struct DeviceManagerConfig {
  int32_t deviceCount = 0;     // 0: POPRT_DEVICES from the environment, or 16384
  std::string visibleDevices;  // ids as in "0,2-3"; empty: POPRT_VISIBLE_DEVICES, or all
  std::string sharedDevices;   // "1" or a folder: shared by processes; empty: POPRT_SHARED_DEVICES
};

class DeviceManager {
 public:
  // 0: POPRT_DEVICES from the environment, or 16384.
  explicit DeviceManager(int32_t deviceCount = 0)
      : DeviceManager(DeviceManagerConfig{deviceCount, {}, {}}) {}
  explicit DeviceManager(const DeviceManagerConfig& config) {
    const auto text = [](const std::string& s, const char* name) {
      return s.empty() ? nullptr : detail::text(s, name);
    };
    poprt_device_manager_options options{};
    options.struct_size = sizeof options;
    options.device_count = config.deviceCount;
    options.shared = text(config.sharedDevices, "sharedDevices");
    options.visible = text(config.visibleDevices, "visibleDevices");
    poprt_device_manager* made = nullptr;
    detail::check(poprt_device_manager_create(&options, &made));
    handle_.reset(made);
  }
  std::string ipuHardwareVersion() const {
    return poprt_device_manager_ipu_hardware_version(handle_.get());
  }
  size_t getNumDevices() const { return poprt_device_manager_device_count(handle_.get()); }
  std::vector<int64_t> getDeviceIds() const {
    std::vector<int64_t> ids;
    for (size_t i = 0; i < getNumDevices(); i++)
      ids.push_back(poprt_device_manager_device_id(handle_.get(), i));
    return ids;
  }
  std::shared_ptr<Device> getDevice(int64_t numIpus = 1) const {
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_get_device(handle_.get(), numIpus, &device));
    return std::make_shared<Device>(device);
  }
  std::shared_ptr<Device> getSpecificDevice(int64_t deviceId) const {
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_get_specific_device(handle_.get(), deviceId, &device));
    return std::make_shared<Device>(device);
  }
  std::shared_ptr<Device> getDevice(int64_t numIpus, const DeviceConstraints& constraints,
                                    const DeviceWaitConfig& wait = {}) const {
    return acquire(numIpus, constraints, wait, nullptr, -1);
  }
  // Returns a device that suits the model.
  std::shared_ptr<Device> getDevice(const Executable& model,
                                    const DeviceWaitConfig& wait = {}) const {
    return acquire(0, {}, wait, model.handle(), -1);
  }
  std::shared_ptr<Device> getDevice(const std::shared_ptr<popef::Model>& model,
                                    const DeviceWaitConfig& wait = {}) const {
    return getDevice(Executable(model, false), wait);
  }
  std::shared_ptr<Device> getSpecificDevice(const Executable& model, int64_t deviceId,
                                            const DeviceWaitConfig& wait = {}) const {
    return acquire(0, {}, wait, model.handle(), deviceId);
  }
  std::shared_ptr<Device> getSpecificDevice(const std::shared_ptr<popef::Model>& model,
                                            int64_t deviceId,
                                            const DeviceWaitConfig& wait = {}) const {
    return getSpecificDevice(Executable(model, false), deviceId, wait);
  }
  std::shared_ptr<Device> getSpecificDevice(int64_t deviceId, const DeviceWaitConfig& wait) const {
    return acquire(0, {}, wait, nullptr, deviceId);
  }
  // If tilesPerIpu is 0, the number of tiles is that of the IPU version.
  std::shared_ptr<Device> createIpuModelDevice(int64_t numIpus, int32_t ipuVersion = 2,
                                               int64_t tilesPerIpu = 0) const {
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_create_ipu_model_device(handle_.get(), numIpus, ipuVersion,
                                                               tilesPerIpu, &device));
    return std::make_shared<Device>(device);
  }
  std::shared_ptr<Device> createSmallIpuModelDevice(int64_t numIpus, int32_t ipuVersion = 2) const {
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_create_small_ipu_model_device(handle_.get(), numIpus,
                                                                     ipuVersion, &device));
    return std::make_shared<Device>(device);
  }
  // The IPU model has the number of IPUs and the version for which `model` was compiled.
  std::shared_ptr<Device> createIpuModelDevice(const std::shared_ptr<popef::Model>& model,
                                               int64_t tilesPerIpu = 0) const {
    const popef::Metadata& m = detail::given(model, "model").metadata;
    return createIpuModelDevice(m.numIpus(), static_cast<int32_t>(m.ipuVersion()), tilesPerIpu);
  }
  std::shared_ptr<Device> createSmallIpuModelDevice(
      const std::shared_ptr<popef::Model>& model) const {
    const popef::Metadata& m = detail::given(model, "model").metadata;
    return createSmallIpuModelDevice(m.numIpus(), static_cast<int32_t>(m.ipuVersion()));
  }

 private:
  std::shared_ptr<Device> acquire(int64_t numIpus, const DeviceConstraints& constraints,
                                  const DeviceWaitConfig& wait, const poprt_executable* model,
                                  int64_t id) const {
    poprt_device_request r{};
    r.struct_size = sizeof r;
    r.num_ipus = numIpus;
    r.ipu_version = constraints.ipuVersion;
    r.min_tiles = constraints.minTiles;
    r.remote_buffers = constraints.requiresRemoteBuffers;
    r.wait_strategy = static_cast<poprt_wait_strategy>(wait.strategy);
    r.wait_timeout_ns = wait.timeout.count();
    r.wait_sleep_ns = wait.rawSleepNs();
    poprt_device* device = nullptr;
    detail::check(poprt_device_manager_acquire(handle_.get(), &r, model, id, &device));
    return std::make_shared<Device>(device);
  }
  struct Free {
    void operator()(poprt_device_manager* m) const { poprt_device_manager_free(m); }
  };
  std::unique_ptr<poprt_device_manager, Free> handle_;
};

}  // namespace model_runtime
