// The interface of a device, which prepares a program once and runs it many times.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fork_mutex.h"
#include "program/program.h"

namespace poprt::device {

// The flows of PopEF: load runs once, main for each request, save on demand.
enum class Flow : uint8_t { load = 0, main = 1, save = 2 };

struct LoadOptions {
  // 0: POPRT_THREADS from the environment, else the CPUs of this process, or the quota of its
  // control group if that is smaller. All engines with 0 share their workers; an engine with
  // another number has separate ones.
  int threads = 0;
  bool profile = false;       // measure the time of every instruction of the main flow
  bool reproducible = false;  // kernels::Call::reproducible
};

// The program and the weights that a device loads. `owner` keeps the bytes of `weights` alive; they
// are used in place and should be aligned to 64 bytes for full speed.
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

// A program that is prepared on a device. Only one thread at a time may call run(), take_failure()
// and profile().
class Engine {
 public:
  virtual ~Engine() = default;

  // Runs one flow. inputs[i] and outputs[i] are the caller's memory of anchor i, of the anchor's
  // size; inputs are only read. Never allocates. The pointer of an anchor that the run does not use
  // may be null, because it belongs to another variant, and so may the arrays for a flow that uses
  // no anchor.
  virtual void run(Flow flow, const void* const* inputs, void* const* outputs) noexcept = 0;

  // An error of the runs since the last call, one of them if there are several, or nullopt: an
  // index outside its tensor, a loop that exceeds its limit, an error of a plug-in's operator. The
  // results of the run that failed are invalid; other runs are not affected.
  virtual std::optional<Error> take_failure() { return std::nullopt; }

  // The same for the runs of one stage (run_stage()). Only the thread that runs the stage may call
  // it.
  virtual std::optional<Error> take_stage_failure(size_t stage) {
    static_cast<void>(stage);
    return take_failure();
  }

  // One row for each instruction of the main flow; empty unless loaded with LoadOptions::profile.
  virtual std::vector<InstructionProfile> profile() const { return {}; }

  // The number of compute threads that a run may use, including the caller.
  virtual int threads() const noexcept { return 1; }

  // Makes the current run and later ones return soon, until resume(). Any thread may call it. A run
  // checks between instructions, and in long ones after each 5 ms of work or so; a task of a kernel
  // is always finished. The outputs of an interrupted run are unspecified.
  virtual void interrupt() noexcept { interrupted_.store(true, std::memory_order_relaxed); }
  virtual void resume() noexcept { interrupted_.store(false, std::memory_order_relaxed); }

  // The number of stages of a pipelined program, which work on different runs at the same time; 1
  // for other programs. A run passes through all stages in order. It needs separate memory for the
  // transfers: `frame`, of frame_bytes() and aligned to 64 bytes. Only one thread at a time runs a
  // stage, and no thread calls run() at the same time.
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

// The user of a device: a session.
class Occupant {
 public:
  // Another session takes the device. Must stop the engine, release it and then return. Must not
  // call the device.
  virtual void evict() noexcept = 0;

 protected:
  ~Occupant() = default;
};

// Static properties of a device.
struct Properties {
  int ipu_version = 21;  // 21 is a C600 IPU ("ipu21")
  int64_t tiles_per_ipu = 1472;
  bool ipu_model = false;      // made by create_ipu_model_device(); no other caller can get it
  bool remote_buffers = true;  // whether it has streaming memory
};

// Thread-safe.
class Device {
 public:
  Device(int64_t id, int ipu_version) : Device(std::vector<int64_t>{id}, Properties{ipu_version}) {}
  // `ids` has one id for each IPU.
  Device(std::vector<int64_t> ids, Properties properties)
      : ids_(std::move(ids)), properties_(properties) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // The id of the first IPU; -1 for an IPU model.
  int64_t id() const noexcept { return ids_.empty() ? -1 : ids_[0]; }
  const std::vector<int64_t>& ids() const noexcept { return ids_; }
  int64_t num_ipus() const noexcept { return static_cast<int64_t>(ids_.size()); }
  int ipu_version() const noexcept { return properties_.ipu_version; }
  const Properties& properties() const noexcept { return properties_; }

  // Checks and prepares a program. The program is not trusted. Throws data_loss (an inconsistent
  // program, or one that would write constants or inputs), invalid_argument or unimplemented (a
  // kernel refuses its operands), failed_precondition (it needs a kernel that this version does not
  // have), and resource_exhausted.
  virtual std::unique_ptr<Engine> load(const Image& image, const LoadOptions& options) = 0;

  // Assigns the device to a session; it serves one at a time. The previous session is evicted,
  // unless it is exclusive: then this throws failed_precondition. It also throws that in a process
  // that was forked while another thread of the parent executed bind(), unbind(), acquire() or
  // release().
  void bind(Occupant& session, bool exclusive);
  // Takes the device from `session`. Has no effect if the session does not have it.
  void unbind(Occupant& session) noexcept;
  bool is_bound(const Occupant& session) const noexcept {
    return occupant_.load(std::memory_order_acquire) == &session;
  }

  // Takes the device for a user that is not a session, until release(). Returns false if a session
  // or another such user has it.
  bool acquire() noexcept;
  void release() noexcept;

 private:
  const std::vector<int64_t> ids_;
  const Properties properties_;
  ForkMutex mutex_;  // guards the next two; locked while a session is evicted
  std::atomic<Occupant*> occupant_{nullptr};
  bool exclusive_ = false;
};

}  // namespace poprt::device
