// What a device is: something that prepares a program once and then runs it many times.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "program/program.h"

namespace poprt::device {

// PopEF's program flow: load once, main per request, save on demand.
enum class Flow : uint8_t { load = 0, main = 1, save = 2 };

struct LoadOptions {
  int threads = 0;       // 0: POPRT_THREADS from the environment, else the CPUs of this process
  bool profile = false;  // time every instruction of the main flow
};

// What a device loads. `owner` keeps the bytes of `weights` alive; they are used in place and must
// be aligned to 64 bytes for full speed.
struct Image {
  std::shared_ptr<const program::Program> program;
  std::span<const std::byte> weights;
  std::shared_ptr<const void> owner;
};

struct InstructionProfile {
  std::string name, kernel;
  bool parallel = false;
  int64_t runs = 0;
  int64_t total_ns = 0, min_ns = 0;
};

// A program prepared on a device. One thread at a time calls run() and profile().
class Engine {
 public:
  virtual ~Engine() = default;

  // Runs one flow. inputs[i] and outputs[i] are the caller's memory of anchor i, of the size that
  // the anchor has; inputs are only read. Never allocates. A flow that touches no anchor may be
  // given null arrays.
  virtual void run(Flow flow, const void* const* inputs, void* const* outputs) noexcept = 0;

  // One row per instruction of the main flow; empty unless loaded with LoadOptions::profile.
  virtual std::vector<InstructionProfile> profile() const { return {}; }

  // Compute threads that a run may use, the caller included.
  virtual int threads() const noexcept { return 1; }
};

// Devices are used from any thread.
class Device {
 public:
  Device(int64_t id, int ipu_version) : id_(id), ipu_version_(ipu_version) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int64_t id() const noexcept { return id_; }
  // 21 for a Bow IPU ("ipu21").
  int ipu_version() const noexcept { return ipu_version_; }

  // Checks and prepares a program; everything in it is hostile until then. Throws data_loss (an
  // inconsistent program), invalid_argument / unimplemented (a kernel refuses its operands),
  // failed_precondition (it needs a kernel that this version does not have), resource_exhausted.
  virtual std::unique_ptr<Engine> load(const Image& image, const LoadOptions& options) = 0;

  // A device serves one session at a time. acquire() is false when another one has it.
  bool acquire() noexcept { return !taken_.exchange(true, std::memory_order_acq_rel); }
  void release() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  const int64_t id_;
  const int ipu_version_;
  std::atomic<bool> taken_{false};  // acquire() pairs with release()
};

}  // namespace poprt::device
