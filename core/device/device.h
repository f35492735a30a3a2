// What a device is: something that prepares a program once and then runs it many times.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
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

// A program prepared on a device. One thread at a time calls run(), take_failure() and profile().
class Engine {
 public:
  virtual ~Engine() = default;

  // Runs one flow. inputs[i] and outputs[i] are the caller's memory of anchor i, of the size that
  // the anchor has; inputs are only read. Never allocates. A flow that touches no anchor may be
  // given null arrays.
  virtual void run(Flow flow, const void* const* inputs, void* const* outputs) noexcept = 0;

  // What went wrong in an operator of a plug-in since this was asked last; the first of several.
  // The run has gone on to its end, with results that are worth nothing.
  virtual std::optional<Error> take_failure() { return std::nullopt; }

  // The same of the runs of one stage (run_stage()), for the thread that runs it.
  virtual std::optional<Error> take_stage_failure(size_t stage) {
    static_cast<void>(stage);
    return take_failure();
  }

  // One row per instruction of the main flow; empty unless loaded with LoadOptions::profile.
  virtual std::vector<InstructionProfile> profile() const { return {}; }

  // Compute threads that a run may use, the caller included.
  virtual int threads() const noexcept { return 1; }

  // Any thread: a run ends soon, and so do later ones until resume(). It looks between
  // instructions, and in long ones after each of some 5 ms of work; what a kernel does as one task
  // is finished. What such a run has written is unspecified.
  virtual void interrupt() noexcept { interrupted_.store(true, std::memory_order_relaxed); }
  virtual void resume() noexcept { interrupted_.store(false, std::memory_order_relaxed); }

  // Of a pipelined program: how many stages work on different runs at the same time; else 1. A run
  // goes through all, in order, with memory of its own for what crosses: `frame`, of frame_bytes(),
  // aligned to 64 bytes. One thread at a time runs a stage, and none runs run() meanwhile.
  virtual size_t stages() const noexcept { return 1; }
  virtual uint64_t frame_bytes() const noexcept { return 0; }
  virtual void run_stage(size_t stage, const void* const* inputs, void* const* outputs,
                         std::byte* frame) noexcept {
    static_cast<void>(stage), static_cast<void>(frame);
    run(Flow::main, inputs, outputs);
  }

 protected:
  bool interrupted() const noexcept { return interrupted_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> interrupted_{false};
};

// Whoever uses a device: a session.
class Occupant {
 public:
  // Another session takes the device: stop, give the engine up, return when that is done. Must not
  // call the device.
  virtual void evict() noexcept = 0;

 protected:
  ~Occupant() = default;
};

// What a device is made of.
struct Properties {
  int ipu_version = 21;  // 21 for a Bow IPU ("ipu21")
  int64_t tiles_per_ipu = 1472;
  bool ipu_model = false;      // made by create_ipu_model_device(): nobody else can get it
  bool remote_buffers = true;  // streaming memory beside the chips
};

// Devices are used from any thread.
class Device {
 public:
  Device(int64_t id, int ipu_version) : Device(std::vector<int64_t>{id}, Properties{ipu_version}) {}
  // One id per IPU.
  Device(std::vector<int64_t> ids, Properties properties)
      : ids_(std::move(ids)), properties_(properties) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The first of its IPUs; -1 for an IPU model.
  int64_t id() const noexcept { return ids_.empty() ? -1 : ids_[0]; }
  const std::vector<int64_t>& ids() const noexcept { return ids_; }
  int64_t num_ipus() const noexcept { return static_cast<int64_t>(ids_.size()); }
  int ipu_version() const noexcept { return properties_.ipu_version; }
  const Properties& properties() const noexcept { return properties_; }

  // Checks and prepares a program; everything in it is hostile until then. Throws data_loss (an
  // inconsistent program, or one that would write constants or inputs), invalid_argument /
  // unimplemented (a kernel refuses its operands), failed_precondition (it needs a kernel that this
  // version does not have), resource_exhausted.
  virtual std::unique_ptr<Engine> load(const Image& image, const LoadOptions& options) = 0;

  // A device serves one session at a time. The one that has it is evicted first, unless it is
  // exclusive: then this throws failed_precondition.
  void bind(Occupant& session, bool exclusive);
  // Nothing happens when another session has it by now.
  void unbind(Occupant& session) noexcept;
  bool is_bound(const Occupant& session) const noexcept {
    return occupant_.load(std::memory_order_acquire) == &session;
  }

  // Takes the device for something that is no session; false when a session has it.
  bool acquire() noexcept;
  void release() noexcept;

 private:
  const std::vector<int64_t> ids_;
  const Properties properties_;
  std::mutex mutex_;  // of the next two; held while a session is evicted
  std::atomic<Occupant*> occupant_{nullptr};
  bool exclusive_ = false;
};

}  // namespace poprt::device
