// Hands out emulated devices.
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

// What to do while every device that fits is busy. `sleep_time` lies between two looks at other
// processes; a device that this process frees is seen at once.
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

// What a device must have.
struct Constraints {
  int64_t num_ipus = 1;
  int ipu_version = 0;    // 0: any
  int64_t min_tiles = 0;  // per IPU
  bool remote_buffers = false;
};

struct ManagerConfig {
  // How many IPUs there are, busy ones included. 0: POPRT_DEVICES from the environment, else 16384.
  int64_t device_count = 0;
  // Empty: POPRT_SHARED_DEVICES from the environment. "0" or nothing: the IPUs are virtual and this
  // process's own. "1": they are shared by all processes of the user. An absolute path: by all that
  // name the same folder.
  std::string shared;
  // Empty: POPRT_VISIBLE_DEVICES from the environment, for example "0,2-3"; unset: all of them.
  std::string visible;
};

// All managers of a process see the same devices. A device is free when nobody holds its pointer;
// shared ones are also freed by the end of the process, whichever way it ends. Thread-safe.
//
// The functions that take a device throw invalid_argument (a number out of range), not_found (no
// visible device can ever fit), unavailable (those that fit are busy, and still were when the wait
// was over).
class DeviceManager {
 public:
  static constexpr int kModelIpuVersion = 2;
  static constexpr int64_t kSmallModelTiles = 4;

  explicit DeviceManager(int64_t device_count = 0)
      : DeviceManager(ManagerConfig{device_count, {}, {}}) {}
  // Throws invalid_argument (a count outside 1 to 1048576, lists that make no sense),
  // permission_denied (the folder of shared devices).
  explicit DeviceManager(const ManagerConfig& config);

  // Visible IPUs, busy ones included, and their ids in ascending order.
  int64_t device_count() const noexcept { return static_cast<int64_t>(ids_.size()); }
  const std::vector<int64_t>& device_ids() const noexcept { return ids_; }
  // What the emulator stands for: a Bow IPU.
  static constexpr const char* ipu_hardware_version() { return "ipu21"; }

  // The first free device that fits.
  std::shared_ptr<Device> get_device(const Constraints& constraints,
                                     const WaitConfig& wait = {}) const;
  std::shared_ptr<Device> get_device(int64_t num_ipus = 1, const WaitConfig& wait = {}) const;
  // The one of this id, when it fits: a device of several IPUs takes those that follow, too.
  std::shared_ptr<Device> get_specific_device(int64_t id, const WaitConfig& wait = {},
                                              const Constraints& constraints = {}) const;

  // IPU models: devices of their own that nobody waits for. `tiles_per_ipu` 0: what the version
  // has. Results are those of any device; only reports differ. Throws invalid_argument for an IPU
  // version other than 1, 2 and 21 and for counts out of range.
  std::shared_ptr<Device> create_ipu_model_device(int64_t num_ipus = 1,
                                                  int ipu_version = kModelIpuVersion,
                                                  int64_t tiles_per_ipu = 0) const;
  std::shared_ptr<Device> create_small_ipu_model_device(int64_t num_ipus = 1,
                                                        int ipu_version = kModelIpuVersion) const {
    return create_ipu_model_device(num_ipus, ipu_version, kSmallModelTiles);
  }

 private:
  std::shared_ptr<Device> take(const Constraints& constraints, const WaitConfig& wait,
                               std::span<const int64_t> candidates) const;  // which ascend

  std::vector<int64_t> ids_;
  std::string folder_;  // of shared devices; empty: not shared
};

}  // namespace poprt::device
