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

#include "base/fork_mutex.h"
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

// immediate: the constructor acquires a device and loads the model. deferred: bind_to_device() or
// the first run does.
enum class LaunchPolicy : uint8_t { immediate, deferred };

struct SessionConfig {
  std::shared_ptr<device::Device> device;  // null: any free device that is suitable
  device::LoadOptions load;
  LaunchPolicy policy = LaunchPolicy::immediate;
  device::WaitConfig wait = {};  // how to wait for a device
  // Whether other sessions cannot bind the device while this session has it. If false, a session
  // that binds the device unloads this one.
  bool exclusive = false;
  bool check_package_hash = true;  // for files
  std::string executable = {};     // selects one if files have several; empty: the only one
  // Whether to publish telemetry (telemetry/README.md); POPRT_TELEMETRY=1 in the environment also
  // enables it. `replica` distinguishes the sessions of one runner.
  bool telemetry = false;
  uint32_t replica = 0;
  bool of_generator = false;  // whether the telemetry has the record of a generator
  // The index and the number of the compiled-in copies, if each has a separate session: the values
  // of a feed are distributed to them in turn.
  uint32_t copy = 0, copies = 1;
  // Select the anchors that get a user's callback; null: default_predicate(). An input with data
  // needs none, but is zeros if a predicate that is set rejects it whatever its programs are.
  AnchorCallbackPredicate input_predicate = {}, output_predicate = {};
};

// Loads a model on a device and runs its programs, either with pointers (run_main_programs(inputs,
// outputs)) or with a callback for each anchor (run_main_programs()).
//
// Thread-safe; functions that run programs, load, unload or change handlers exclude each other.
// Callbacks must not call the session, except for stop().
class Session final : private device::Occupant {
 public:
  // Throws unavailable (no free device), not_found (no suitable device exists), failed_precondition
  // (an exclusive session has the device, it is too small or of another version, or a kernel is
  // missing), and the errors of device::Device::load.
  explicit Session(std::shared_ptr<const Model> model, SessionConfig config = {});
  // Also throws the errors of open_popef().
  explicit Session(std::span<const std::filesystem::path> paths, SessionConfig config = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }
  // Null before a device is acquired.
  std::shared_ptr<device::Device> device() const;
  // False before the model is loaded, and after unload_from_device() or when another session has
  // taken the device.
  bool is_loaded() const noexcept;

  // Loads the model on a device. Null: the device that the session has or that its config names,
  // otherwise acquires one. If the model is loaded on another device, it is unloaded there. Throws
  // as the constructor.
  void bind_to_device(std::shared_ptr<device::Device> device = nullptr);
  // Ends current runs like stop(). The session keeps its pointer to the device, but other sessions
  // may bind it.
  void unload_from_device() noexcept;
  // Loads again on the same device: restores the initial state, and ends stop(). Updated weights
  // keep their values.
  void reload();
  // Makes a current run fail soon with cancelled: at the next callback or instruction, in a long
  // instruction after about 5 ms, but not inside of a kernel with a single task, such as a TopK of
  // one row. Later runs also fail until reload() or bind_to_device(). Any thread may call it, also
  // in a callback.
  void stop() noexcept;

  // An anchor by name, including the outputs at which the save programs return weights; these have
  // the names of the weights, and handles weight_d2h_NAME. Throw not_found with the existing names
  // in the message.
  const program::Anchor& input_anchor(std::string_view name) const;
  const program::Anchor& output_anchor(std::string_view name) const;
  // Sets the callback of an anchor; null removes it. Also works for anchors that the predicate
  // rejected. Throws as above, and failed_precondition for an anchor without a handle, because it
  // has no stream.
  void set_user_input_handler(std::string_view name, std::shared_ptr<StreamCallback> callback);
  void set_user_output_handler(std::string_view name, std::shared_ptr<StreamCallback> callback);
  // Connects a queue to each anchor that the predicates accept (null: those of the session). A
  // queue has room for at least `buffers` elements. If an input waits for `timeout_ns` (0: without
  // limit), `timeout` is called repeatedly on the thread that runs; it may enqueue. The session
  // owns the queues; references are valid until it is destroyed or creates queues again. Throws
  // invalid_argument unless `buffers` is 1 to 2^20.
  QueueManager& create_queue_manager(size_t buffers,
                                     std::function<void(InputStreamQueue&)> timeout = {},
                                     std::chrono::nanoseconds timeout_ns = {},
                                     const AnchorCallbackPredicate& input_predicate = {},
                                     const AnchorCallbackPredicate& output_predicate = {});

  // The anchors that need a user's callback, in the model's order. A mask of real places
  // (program::kRealPlaces) is not one of them, and no predicate or queue manager receives it. The
  // shapes of a session are those of the variant that `poprt.bucket` selects, so all places are
  // real. A caller that pads its inputs sets a handler for the mask by name.
  std::vector<const program::Anchor*> user_input_anchors() const;
  std::vector<const program::Anchor*> user_output_anchors() const;
  // The names of the anchors in user_input_anchors() and user_output_anchors() that have no
  // callback.
  std::vector<std::string> unconnected_anchors() const;
  // Throws failed_precondition with unconnected_anchors() in the message.
  void verify_connected() const;

  // These functions block. Run main programs after load programs; they transfer every stream
  // deviceIterations times for each replica. If the model was compiled with I/O tiles, without
  // replicas and for at least kOverlapped iterations, its callbacks are queues without timeouts,
  // and no input keeps its value for a program that does not transfer it (run_programs()), then
  // other threads fetch the inputs of the next transfer and store the outputs of the previous one
  // during a computation; transfers are copied then. Throw cancelled (stopped, or a callback had no
  // data), failed_precondition (unconnected anchors, not loaded), and the errors of operators.
  void run_load_programs();
  void run_main_programs();
  void run_save_programs();
  // run_main_programs(), but returns false, instead of throwing cancelled, if stop() or
  // QueueManager::disconnect_all() ended the programs or prevented them from running.
  bool run_main_programs_unless_stopped();
  // Runs programs by PopEF's indices, in this order; the flows and the programs map define them.
  // The device runs a flow as a whole, so adjacent programs of one flow are one run. It calls the
  // callbacks of the anchors that these programs use; other inputs keep their last value, those per
  // replica the value of each replica. A repeated index begins another run; a program of no flow
  // has no effect. Throws not_found with the existing indices in the message.
  void run_programs(std::span<const uint32_t> indices);

  // Runs one transfer with a pointer for each anchor, in the program's order, to memory of the
  // anchor's size. Null means the next value of an input with data, a new value of the seed, and
  // ones for a mask of real places. The functions throw cancelled if stopped, failed_precondition
  // if not loaded, invalid_argument for a variant that does not exist, and the errors of operators.
  void run_main_programs(const void* const* inputs, void* const* outputs) {
    run_pointers(device::Flow::main, inputs, outputs);
  }
  void run_save_programs(const void* const* inputs, void* const* outputs) {
    run_pointers(device::Flow::save, inputs, outputs);
  }

  // For a pipelined model (device::Engine): runs the stages of a transfer. Only one thread at a
  // time may run a stage, and the caller must ensure that no other thread runs, loads, unloads or
  // updates at the same time. complete_inputs() adds the missing inputs for which the session has a
  // value (data, a seed, masks of real places), once for each transfer; it throws invalid_argument
  // for a variant that does not exist. run_stage() throws cancelled and the errors of operators.
  size_t stages() const;
  uint64_t frame_bytes() const;
  void complete_inputs(const void** inputs);
  void run_stage(size_t stage, const void* const* inputs, void* const* outputs, std::byte* frame);

  // Sets the value of an input with data, for runs that begin later. Copies the bytes. Throws
  // not_found (no such input, or no data; with the inputs that have data in the message) and
  // invalid_argument (size).
  void update_weights(std::string_view name, ConstTensorMemoryView value);
  // Copies the current bytes to `value`. Throws the errors of update_weights().
  void read_weights(std::string_view name, TensorMemoryView value) const;

  // Null if telemetry is off. The session counts runs and queues, and transfers through its
  // callbacks as requests. A caller that runs with pointers counts its requests itself.
  Telemetry* telemetry() const noexcept { return telemetry_.get(); }

  std::vector<device::InstructionProfile> profile() const;
  int threads() const noexcept;

 private:
  // The number of transfers from which overlapping pays: the first and the last transfer of a run
  // have no other to overlap with.
  static constexpr uint64_t kOverlapped = 3;

  // The connection of one anchor.
  struct Stream {
    const program::Anchor* anchor = nullptr;
    const popef::Anchor* metadata = nullptr;  // null if PopEF cannot describe the anchor
    uint64_t bytes = 0;
    bool per_replica = true;
    bool user = false;           // whether the predicate accepts it
    bool connectable = true;     // whether it has a handle
    bool seed = false;           // whether the session generates its values
    bool mask = false;           // whether it marks real places: all of them without a callback
    std::array<bool, 3> used{};  // by flow
    bool served = false;  // whether a program of this run uses it, so that its callback serves it
    // For an input: whether a program of its flows has no transfer of it and reads its last value,
    // which must then be in `memory`.
    bool kept = false;
    const Stream* weights = nullptr;  // for an output: the input whose value it returns
    std::shared_ptr<StreamCallback> callback;
    std::span<const std::byte> data;  // for an input with data; `next` then counts its values
    uint64_t next = 0, stride = 1;
    bool updatable = false;  // whether the model or its file has data for the input
    TensorMemory updated;    // data of update_weights()
    TensorMemory memory;     // for staging
    bool prefetched = false;
    bool in_place = false;

    // Whether the session has a value for the input when no caller gives one.
    bool has_value() const { return !data.empty() || seed || mask; }
  };
  class OverlappedTransfers;

  void evict() noexcept override;
  void init();
  void connect();
  std::shared_ptr<device::Device> acquire_device() const;
  void bind(std::shared_ptr<device::Device> device);
  void bind_if_deferred();
  void load_on(const std::shared_ptr<device::Device>& device);
  void drop_engine() noexcept;
  void interrupt_all() noexcept;
  size_t input_with_data(std::string_view name) const;
  void run_flow(device::Flow flow, std::span<const uint32_t> programs = {});
  bool run_overlapped(uint64_t iterations);
  void run_once(device::Flow flow, bool first_replica, bool last_replica);
  void run_and_answer(device::Flow flow, bool first_replica, bool last_replica);
  void* begin_transfer(Stream& s, bool is_input);
  void* staged_value(Stream& s) const;
  // Throws cancelled if the session was stopped or is leaving its device.
  void fail_if_ended() const;
  [[noreturn]] void fail_transfer(const Stream& s, std::string_view did) const;
  void* input_pointer(Stream& s);
  void* next_own_value(Stream& s);
  void rewind(Stream& s) const;
  void set_callback(Stream& s, std::shared_ptr<StreamCallback> callback);
  void* output_pointer(Stream& s);
  void run_pointers(device::Flow flow, const void* const* inputs, void* const* outputs);
  void run_engine(device::Flow flow, const void* const* inputs, void* const* outputs);
  size_t running_variant(const void* const* inputs) const;
  [[noreturn]] void fail_not_loaded() const;

  std::shared_ptr<const Model> model_;
  SessionConfig config_;

  std::shared_ptr<Telemetry> telemetry_;

  // Locked for binding and unloading, before run_mutex_. An eviction locks only run_mutex_.
  ForkMutex bind_mutex_;
  mutable ForkMutex run_mutex_;
  std::shared_ptr<device::Device> device_;
  std::unique_ptr<device::Engine> engine_;
  std::atomic<bool> loaded_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> evicting_{false};
  std::atomic<int> threads_{1};

  // Guards the callbacks of the streams, engine_ and device_, because interrupt_all() and device()
  // use them during a run.
  mutable ForkMutex streams_mutex_;
  // The streams of the program, followed by the outputs that return weights.
  std::vector<Stream> inputs_, outputs_;
  uint32_t replica_ = 0;  // the one that run_flow() runs
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
  std::unique_ptr<QueueManager> queues_;
  // Used by overlapped runs. The first of these runs creates them.
  std::unique_ptr<IoOverlap> io_;
  std::unique_ptr<OverlappedTransfers> transfers_;
  std::mt19937_64 random_{random_seed()};
};

}  // namespace poprt::runtime
