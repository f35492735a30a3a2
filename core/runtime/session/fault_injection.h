// Device errors, and a way to cause them, because the emulator has no hardware that can break.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"

namespace poprt::runtime {

// The exception classes of Poplar under runtime_error.
enum class DeviceErrorClass : uint8_t {
  application_runtime_error,
  recoverable_runtime_error,
  unrecoverable_runtime_error,
  unknown_runtime_error,
  runtime_error,  // all others
};
enum class RecoveryAction : uint8_t { none, ipu_reset, link_reset, partition_reset, full_reset };

std::string_view device_error_name(DeviceErrorClass error);
std::string_view recovery_action_name(RecoveryAction action);  // in Poplar's spelling

struct DeviceError {
  DeviceErrorClass error = DeviceErrorClass::application_runtime_error;
  RecoveryAction action = RecoveryAction::none;

  // Whether a reset of this IPU makes it usable again.
  bool resettable() const {
    return error == DeviceErrorClass::application_runtime_error ||
           (error == DeviceErrorClass::recoverable_runtime_error &&
            action == RecoveryAction::ipu_reset);
  }
  // Returns aborted, unavailable, internal, unknown or failed_precondition, in the order of
  // DeviceErrorClass.
  ErrorCode code() const;
  // For example "recoverable_runtime_error (IPU_RESET) on replica 0: ...", with a hint for the
  // user.
  std::string message(int replica, bool auto_reset) const;
};

// A fault of `count` runs, beginning with run `at` (from 1) of `replica`. If `replica` is -1, the
// runs of all replicas are counted together.
struct Fault {
  std::optional<DeviceError> error;   // none: the run is only slow
  std::chrono::nanoseconds delay{0};  // before the run
  uint64_t at = 1, count = 1;
  int replica = -1;
};

// Thread-safe; several runners may share it. A process that was forked while another thread of the
// parent used it injects no faults.
class FaultInjector {
 public:
  FaultInjector() = default;
  // Faults are separated by ';'. Each is CLASS[:ACTION] or slow:NANOSECONDS, followed by any of
  // @RUN, *COUNT and /REPLICA:
  // "application_runtime_error@3;recoverable_runtime_error:IPU_RESET@5*2/1". Throws
  // invalid_argument.
  explicit FaultInjector(std::string_view text);
  // The faults in POPRT_INJECT_FAULTS; null if it is unset.
  static std::shared_ptr<FaultInjector> from_environment();

  void add(const Fault& fault);
  // From now on, on average `per_million` of a million runs fail with `error`. A random number
  // generator with the seed `seed` selects them.
  void add_random(uint64_t seed, uint32_t per_million, DeviceError error);

  // Called before each run of a batch. Sleeps if the run is to be slow, and returns the error of
  // the run.
  std::optional<DeviceError> before_run(int replica);
  uint64_t runs() const;

 private:
  struct Random {
    uint64_t state;
    uint32_t per_million;
    DeviceError error;
  };
  mutable ForkMutex mutex_;
  std::vector<Fault> faults_;
  std::vector<Random> random_;
  std::vector<uint64_t> runs_;  // by replica
  uint64_t all_runs_ = 0;
};

}  // namespace poprt::runtime
