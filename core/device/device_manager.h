// Allocates emulated devices.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace poprt::device {

enum class WaitStrategy : uint8_t { no_wait, wait_with_timeout, wait_forever };

// The behaviour while all suitable devices are busy. `sleep_time` is the interval of checks for
// devices of other processes, at least 1 ms and at most an hour; a device that this process
// releases is noticed immediately.
struct WaitConfig {
  using Duration = std::chrono::nanoseconds;

  WaitConfig() = default;
  explicit WaitConfig(WaitStrategy s, Duration limit = Duration::zero(),
                      Duration sleep = std::chrono::seconds(15))
      : strategy(s), timeout(limit), sleep_time(sleep) {}
  explicit WaitConfig(Duration limit, Duration sleep = std::chrono::seconds(15))
      : WaitConfig(WaitStrategy::wait_with_timeout, limit, sleep) {}

  WaitStrategy strategy = WaitStrategy::no_wait;
  Duration timeout = Duration::zero();
  Duration sleep_time = std::chrono::seconds(15);
};

// Requirements for a device.
struct Constraints {
  int64_t num_ipus = 1;
  int ipu_version = 0;    // 0: any
  int64_t min_tiles = 0;  // per IPU
  bool remote_buffers = false;
};

struct ManagerConfig {
  // The number of IPUs, including busy ones. 0: POPRT_DEVICES from the environment, else 16384.
  int64_t device_count = 0;
  // If empty, POPRT_SHARED_DEVICES from the environment is used. "0" or unset: this process has
  // separate virtual IPUs. "1": all processes of the user share them. An absolute path: all
  // processes that use the same folder share them.
  std::string shared;
  // If empty, POPRT_VISIBLE_DEVICES from the environment is used, for example "0,2-3"; all devices
  // are visible if it is unset.
  std::string visible;
};

// Managers of a process with the same `shared` see the same devices. A device is free when its last
// pointer is destroyed; shared ones are also freed when the process ends for any reason.
// Thread-safe.
//
// The functions that return a device throw invalid_argument (a number out of range), not_found (no
// visible device can ever be suitable), unavailable (suitable ones were busy until the wait ended)
// and permission_denied (the file of locks of shared devices cannot be opened).
class DeviceManager {
 public:
  static constexpr int kModelIpuVersion = 2;
  static constexpr int64_t kSmallModelTiles = 4;

  explicit DeviceManager(int64_t device_count = 0)
      : DeviceManager(ManagerConfig{device_count, {}, {}}) {}
  // Throws invalid_argument (a count other than 0 outside 1 to 1048576, an invalid list, a folder
  // whose path is not absolute) and permission_denied (the folder of shared devices).
  explicit DeviceManager(const ManagerConfig& config);

  // Visible IPUs, including busy ones, and their ids in ascending order.
  int64_t device_count() const noexcept { return static_cast<int64_t>(ids_.size()); }
  const std::vector<int64_t>& device_ids() const noexcept { return ids_; }
  // The emulated chip is the IPU of a C600 card.
  static constexpr const char* ipu_hardware_version() { return "ipu21"; }

  // The first free device that is suitable.
  std::shared_ptr<Device> get_device(const Constraints& constraints,
                                     const WaitConfig& wait = {}) const;
  std::shared_ptr<Device> get_device(int64_t num_ipus = 1, const WaitConfig& wait = {}) const;
  // The device with this id if it is suitable. A device of several IPUs also takes the following
  // visible ids.
  std::shared_ptr<Device> get_specific_device(int64_t id, const WaitConfig& wait = {},
                                              const Constraints& constraints = {}) const;

  // Creates an IPU model, a separate device that no other caller waits for. If `tiles_per_ipu` is
  // 0, the IPU version determines the number of tiles. The results are the same as on any device;
  // only reports differ. Throws invalid_argument for an IPU version other than 1, 2 and 21 and for
  // counts out of range.
  std::shared_ptr<Device> create_ipu_model_device(int64_t num_ipus = 1,
                                                  int ipu_version = kModelIpuVersion,
                                                  int64_t tiles_per_ipu = 0) const;
  std::shared_ptr<Device> create_small_ipu_model_device(int64_t num_ipus = 1,
                                                        int ipu_version = kModelIpuVersion) const {
    return create_ipu_model_device(num_ipus, ipu_version, kSmallModelTiles);
  }

 private:
  std::shared_ptr<Device> take(const Constraints& constraints, const WaitConfig& wait,
                               std::span<const int64_t> candidates) const;  // in ascending order

  std::vector<int64_t> ids_;
  std::string folder_;  // of shared devices; empty if they are not shared
};

}  // namespace poprt::device
