// Device errors, and a way to cause them: the emulator has no hardware that could break.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace poprt::runtime {

// Poplar's exception tree under runtime_error.
enum class DeviceErrorClass : uint8_t {
  application_runtime_error,
  recoverable_runtime_error,
  unrecoverable_runtime_error,
  unknown_runtime_error,
  runtime_error,  // any other
};
enum class RecoveryAction : uint8_t { none, ipu_reset, link_reset, partition_reset, full_reset };

std::string_view device_error_name(DeviceErrorClass error);
std::string_view recovery_action_name(RecoveryAction action);  // as Poplar spells them

struct DeviceError {
  DeviceErrorClass error = DeviceErrorClass::application_runtime_error;
  RecoveryAction action = RecoveryAction::none;

  // A reset of this IPU alone makes it usable again.
  bool resettable() const {
    return error == DeviceErrorClass::application_runtime_error ||
           (error == DeviceErrorClass::recoverable_runtime_error &&
            action == RecoveryAction::ipu_reset);
  }
  // aborted, unavailable, internal, unknown, failed_precondition, in the order of DeviceErrorClass.
  ErrorCode code() const;
  // "recoverable_runtime_error (IPU_RESET) on replica 0: ..." and what to do.
  std::string message(int replica, bool auto_reset) const;
};

// One fault: hits `count` runs from the `at`-th (from 1) of `replica` (-1: of any).
struct Fault {
  std::optional<DeviceError> error;   // none: only slow
  std::chrono::nanoseconds delay{0};  // before the run
  uint64_t at = 1, count = 1;
  int replica = -1;
};

// Thread-safe; may be shared by runners.
class FaultInjector {
 public:
  FaultInjector() = default;
  // Faults separated by ';', each CLASS[:ACTION] or slow:NANOSECONDS, then any of @RUN, *COUNT,
  // /REPLICA: "application_runtime_error@3;recoverable_runtime_error:IPU_RESET@5*2/1". Throws
  // invalid_argument.
  explicit FaultInjector(std::string_view text);
  // What POPRT_INJECT_FAULTS says; null when it is not set.
  static std::shared_ptr<FaultInjector> from_environment();

  void add(const Fault& fault);
  // From now on, `per_million` of all runs fail with `error`, chosen by a generator seeded with
  // `seed`.
  void add_random(uint64_t seed, uint32_t per_million, DeviceError error);

  // Before each run of a batch: sleeps if it is to be slow; what it fails with.
  std::optional<DeviceError> before_run(int replica);
  uint64_t runs() const;

 private:
  struct Random {
    uint64_t state;
    uint32_t per_million;
    DeviceError error;
  };
  mutable std::mutex mutex_;
  std::vector<Fault> faults_;
  std::vector<Random> random_;
  std::vector<uint64_t> runs_;  // per replica
  uint64_t all_runs_ = 0;
};

}  // namespace poprt::runtime
