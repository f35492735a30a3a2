// A model on a device.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random_seed.h"
#include "device/device.h"
#include "device/device_manager.h"
#include "runtime/queue/stream_callback.h"
#include "runtime/session/anchor_predicate.h"
#include "runtime/session/model.h"
#include "runtime/session/tensor_memory.h"
#include "runtime/telemetry/telemetry.h"

namespace poprt::runtime {

class IoOverlap;
class QueueManager;
class InputStreamQueue;

// immediate: the constructor acquires a device and loads; deferred: bind_to_device() or the first
// run does.
enum class LaunchPolicy : uint8_t { immediate, deferred };

struct SessionConfig {
  std::shared_ptr<device::Device> device;  // null: any free one that fits the model
  device::LoadOptions load;
  LaunchPolicy policy = LaunchPolicy::immediate;
  device::WaitConfig wait = {};  // when it acquires a device
  // Others cannot bind the device while this session has it. Otherwise a session that binds it
  // unloads this one.
  bool exclusive = false;
  bool check_package_hash = true;  // of files
  std::string executable = {};     // which one, when files hold several; empty: the only one
  // Publish what it does (telemetry/README.md), or POPRT_TELEMETRY=1 in the environment; `replica`
  // tells sessions of one runner apart.
  bool telemetry = false;
  uint32_t replica = 0;
  // Of the compiled-in copies, when each has a session of its own: a feed's values are dealt out to
  // them by turns.
  uint32_t copy = 0, copies = 1;
  // Which anchors without data get a user's callback; null: default_predicate().
  AnchorCallbackPredicate input_predicate = {}, output_predicate = {};
};

// Loads a model on a device and runs its programs, either on pointers (run_main_programs(inputs,
// outputs)) or with a callback for each anchor (run_main_programs()).
//
// Any thread may call any function; those that run programs, load, unload or change handlers take
// turns. Callbacks must not call the session.
class Session final : private device::Occupant {
 public:
  // Throws unavailable (no free device), not_found (no device can ever fit), failed_precondition
  // (the device is an exclusive session's, too small or of another version, or a kernel is
  // missing), and what device::Device::load throws.
  explicit Session(std::shared_ptr<const Model> model, SessionConfig config = {});
  // Throws what open_popef() throws, too.
  explicit Session(std::span<const std::filesystem::path> paths, SessionConfig config = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }
  // Null before a device was acquired.
  std::shared_ptr<device::Device> device() const;
  // False before the upload, and after unload_from_device() or when another session took the
  // device.
  bool is_loaded() const noexcept;

  // Acquires a device when none is given, and uploads. What was loaded elsewhere is unloaded.
  void bind_to_device(std::shared_ptr<device::Device> device = nullptr);
  // Runs that are under way end as by stop(). The device stays this session's handle, but others
  // may bind it.
  void unload_from_device() noexcept;
  // Uploads again, to the same device: initial state, and no stop(). Weights that were updated
  // stay.
  void reload();
  // Any thread, callbacks too: a run ends soon with cancelled (at the next callback or instruction,
  // in a long one after some 5 ms of it, but not within a kernel that is one task, such as a TopK
  // of one row), and so do later ones until reload() or bind_to_device().
  void stop() noexcept;

  // By name, the outputs of weights that the save programs return (weight_d2h_NAME) too. Throw
  // not_found listing the names there are.
  const program::Anchor& input_anchor(std::string_view name) const;
  const program::Anchor& output_anchor(std::string_view name) const;
  // The callback of an anchor; null takes it away. Also for anchors that the predicate rejected.
  // Throws as above, and failed_precondition for an anchor without a handle: it has no stream.
  void set_user_input_handler(std::string_view name, std::shared_ptr<StreamCallback> callback);
  void set_user_output_handler(std::string_view name, std::shared_ptr<StreamCallback> callback);
  // One queue for each anchor that the predicates accept (null: the session's), connected as its
  // callback. `buffers` elements fit into a queue. `timeout` is called on the running thread when
  // an input waited for `timeout_ns` (0: never), again and again; it may enqueue. The session keeps
  // the queues; references are good until the session goes or makes queues again.
  QueueManager& create_queue_manager(size_t buffers,
                                     std::function<void(InputStreamQueue&)> timeout = {},
                                     std::chrono::nanoseconds timeout_ns = {},
                                     const AnchorCallbackPredicate& input_predicate = {},
                                     const AnchorCallbackPredicate& output_predicate = {});

  // Anchors that a user's callback must serve, in the model's order.
  std::vector<const program::Anchor*> user_input_anchors() const;
  std::vector<const program::Anchor*> user_output_anchors() const;
  // Of those, the ones without a callback.
  std::vector<std::string> unconnected_anchors() const;
  // Throws failed_precondition listing unconnected_anchors().
  void verify_connected() const;

  // Blocking. Run main programs after load programs; they transfer every stream deviceIterations
  // times for each replica. Of a model compiled with I/O tiles for at least kOverlapped of them
  // (and no replicas), whose callbacks are queues without timeouts, the next transfer's inputs are
  // fetched and the last one's outputs taken while one computes, by threads of their own; transfers
  // are copied then. Throw cancelled
  // (stopped, or a callback had no data), failed_precondition (unconnected anchors, not loaded).
  void run_load_programs();
  void run_main_programs();
  void run_save_programs();
  // By PopEF's program indices, in this order: those of the flows and of the programs map. The
  // device runs a flow as a whole, so programs of one flow that follow each other are one run, in
  // which the callbacks of the anchors that these programs use are called; other inputs keep their
  // last value. A repeated index begins another run; a program of no flow does nothing. Throws
  // not_found listing those there are.
  void run_programs(std::span<const uint32_t> indices);

  // One transfer with a pointer for each anchor, in the program's order, to memory of the anchor's
  // size. Null for an input that has data takes its next value, for the seed a new one. Throw
  // failed_precondition when not loaded, invalid_argument for a variant that is not there.
  void run_main_programs(const void* const* inputs, void* const* outputs) {
    run_pointers(device::Flow::main, inputs, outputs);
  }
  void run_save_programs(const void* const* inputs, void* const* outputs) {
    run_pointers(device::Flow::save, inputs, outputs);
  }

  // Of a pipelined model (device::Engine): the stages of a transfer, each run by one thread at a
  // time; whoever does sees to it that nobody else runs, loads, unloads or updates meanwhile.
  // complete_inputs() puts in what the model has, once for each transfer, and throws
  // invalid_argument for a variant that there is not. run_stage() throws cancelled, and what an
  // operator failed with.
  size_t stages() const;
  uint64_t frame_bytes() const;
  void complete_inputs(const void** inputs);
  void run_stage(size_t stage, const void* const* inputs, void* const* outputs, std::byte* frame);

  // The value of an input that has data: for the runs that begin later. Bytes are copied. Throws
  // not_found (no such input, or it has no data; lists those that do), invalid_argument (size).
  void update_weights(std::string_view name, ConstTensorMemoryView value);
  // The same bytes, valid until the next update.
  ConstTensorMemoryView weights(std::string_view name) const;

  // Null when nothing is published. Runs and queues are counted by the session, and as requests the
  // transfers through its callbacks; those of runs with pointers by whoever serves them.
  Telemetry* telemetry() const noexcept { return telemetry_.get(); }

  std::vector<device::InstructionProfile> profile() const;
  int threads() const noexcept;

 private:
  // The first and the last transfer of a run have nothing to overlap with.
  static constexpr uint64_t kOverlapped = 3;

  // One anchor's connection.
  struct Stream {
    const program::Anchor* anchor = nullptr;
    const popef::Anchor* metadata = nullptr;  // null: PopEF cannot describe it
    uint64_t bytes = 0;
    bool per_replica = true;
    bool user = false;           // the predicate accepts it
    bool connectable = true;     // it has a handle
    bool seed = false;           // random numbers of the session
    std::array<bool, 3> used{};  // by flow
    bool served = false;  // by its callback in this run: a program that was asked for uses it
    const Stream* weights = nullptr;  // of an output: the input whose value it returns
    std::shared_ptr<StreamCallback> callback;
    std::span<const std::byte> data;  // of an input that has some; then `next` counts values
    uint64_t next = 0, stride = 1;
    TensorMemory memory;  // staging, or updated data
    bool prefetched = false;
    bool in_place = false;
  };
  class OverlappedTransfers;

  void evict() noexcept override;
  void init();
  void connect();
  std::shared_ptr<device::Device> acquire_device() const;
  void load_on(const std::shared_ptr<device::Device>& device);
  void drop_engine() noexcept;
  void interrupt_all() noexcept;
  size_t input_with_data(std::string_view name) const;
  void run_flow(device::Flow flow, std::span<const uint32_t> programs = {});
  bool run_overlapped(uint64_t iterations);
  void run_once(device::Flow flow, bool first_replica, bool last_replica);
  void run_and_answer(device::Flow flow, bool first_replica, bool last_replica);
  void* begin_transfer(Stream& s, bool is_input);
  [[noreturn]] void fail_transfer(const Stream& s, std::string_view did) const;
  void* input_pointer(Stream& s);
  void* own_data(Stream& s);
  void rewind(Stream& s) const;
  static void set_callback(Stream& s, std::shared_ptr<StreamCallback> callback);
  void* output_pointer(Stream& s);
  void run_pointers(device::Flow flow, const void* const* inputs, void* const* outputs);
  void run_engine(device::Flow flow, const void* const* inputs, void* const* outputs);
  size_t running_variant(const void* const* inputs) const;
  [[noreturn]] void fail_not_loaded() const;

  std::shared_ptr<const Model> model_;
  SessionConfig config_;

  std::shared_ptr<Telemetry> telemetry_;

  // Taken for binding and unloading, then run_mutex_. An eviction takes run_mutex_ alone.
  std::mutex bind_mutex_;
  mutable std::mutex run_mutex_;
  std::shared_ptr<device::Device> device_;
  std::unique_ptr<device::Engine> engine_;
  std::atomic<bool> loaded_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> evicting_{false};
  std::atomic<int> threads_{1};

  mutable std::mutex streams_mutex_;      // callbacks of streams_, for interrupt_all() during a run
  std::vector<Stream> inputs_, outputs_;  // the program's, then those that return weights
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
  std::unique_ptr<QueueManager> queues_;
  // Of overlapped runs; made by the first.
  std::unique_ptr<IoOverlap> io_;
  std::unique_ptr<OverlappedTransfers> transfers_;
  std::mt19937_64 random_{random_seed()};
};

}  // namespace poprt::runtime
