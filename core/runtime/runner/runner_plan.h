// The fixed properties of a model runner: its configuration, and the division of requests into
// batches of the device.
//
// A row is the unit of requests: with batching_dim, one index along that dimension, otherwise one
// whole batch. A chunk is the unit of one run of the device: `chunk_rows` rows. A step is the unit
// that the device receives: one chunk for each compiled-in replica and each of batches_per_step.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/queue/clock.h"
#include "runtime/runner/runner.h"
#include "runtime/session/fault_injection.h"
#include "runtime/session/model.h"
#include "runtime/session/session.h"

namespace poprt::runtime {

// A padding request: rows of `inputs` replace the missing rows of a batch, and their results are
// written to `outputs`. Like any request it names all inputs of requests and all outputs (unless
// validate_io_params is off), or nothing. The memory has the anchor's size and must outlive the
// runner.
struct FlushByName {
  InputMemoryView inputs;
  OutputMemoryView outputs;
};

// PopRT's RuntimeConfig with its defaults. Extensions are marked.
struct RunnerConfig {
  static constexpr auto kNever = std::chrono::nanoseconds::max();
  static constexpr auto kDoNotWait = std::chrono::nanoseconds::zero();

  SessionConfig session;  // the device of replica 0, and options for loading
  // An extension: the largest number of requests in flight per replica. RequestOptions::when_full
  // decides what a submission does while it is reached. 0: the size of the ring.
  size_t queue_depth = 0;
  // Whether submission locks a mutex of the replica. If false, only one thread at a time may use
  // the runner.
  bool thread_safe = true;
  // The longest time that a started batch waits for its next rows before it is padded; 0: without
  // limit, or with flush_on_waiting_outputs and without is_batch_size_timeout_enabled, until a
  // caller waits.
  std::chrono::nanoseconds timeout = std::chrono::milliseconds(10);
  // An extension: whether a started batch is padded as soon as the device is idle, so that rows are
  // gathered only while it is busy. It has no effect with flush_on_waiting_outputs or
  // is_batch_size_timeout_enabled, which decide when an incomplete batch runs.
  bool dispatch_when_idle = false;
  // If false, unknown names are ignored, anchors that are not named get zeros or are dropped, the
  // first named anchor determines the number of rows, and others may have more memory than that.
  bool validate_io_params = true;
  // The dimension along which requests may have any size. UINT32_MAX: requests are whole batches.
  uint32_t batching_dim = UINT32_MAX;
  // The ring has this number of requests for each row of a step. With the default it has at least
  // 64 requests, so that single rows do not wait for the callers of others. With overlap_io, one
  // more step than this number is staged.
  static constexpr size_t kDefaultMultiplier = 2;
  size_t ring_buffer_size_multiplier = kDefaultMultiplier;
  bool auto_reset = false;
  // Whether a batch is padded only if a thread waits for one of its requests, or a request has a
  // callback.
  bool flush_on_waiting_outputs = false;
  // With is_batch_size_timeout_enabled: the longest time from the first row of a batch until it is
  // padded, and from the first complete batch of a step until the step runs without the others.
  std::chrono::nanoseconds batch_size_timeout = kNever;
  std::chrono::nanoseconds data_parallel_timeout = kNever;
  bool is_batch_size_timeout_enabled = false;
  // Number of tracepoints, 0: all. They are recorded only with flush_on_waiting_outputs, as PopRT
  // documents.
  size_t request_tracepoints_buffer_size = 1000;
  // Copies of the model that share the requests, each on separate devices.
  int replication_factor = 1;
  // Devices by number, which counts the compiled-in copies of each replica; the others use any free
  // device.
  std::map<int, std::shared_ptr<device::Device>> replica_id_to_device;
  // An extension: the processes with which devices are shared, as device::ManagerConfig::shared.
  std::string shared_devices;
  // Constant values for inputs, in the compiled size; they are copied. Requests do not contain
  // these inputs.
  InputMemoryView frozen_inputs;
  FlushByName flush_by_name;
  // How long to wait if no device is free (kDoNotWait, kNever), and the pause between two attempts.
  std::chrono::nanoseconds device_wait_timeout = std::chrono::seconds(1);
  std::chrono::nanoseconds device_wait_sleep = std::chrono::seconds(6);
  // An extension: whether separate threads copy the inputs and the outputs of a step while another
  // step is computed. Also enabled if the model was compiled for it at one shape.
  bool overlap_io = false;
  // An extension: the number of batches per step. 0: the compiled number, limited so that the
  // copies of the inputs and outputs of a step fit into 64 MiB, and the ring does not exceed its
  // largest size.
  int64_t batches_per_step = 0;
  // An extension: the injected faults. Null: those of POPRT_INJECT_FAULTS.
  std::shared_ptr<FaultInjector> faults;
  Clock clock;
};

// The layout of an anchor's bytes: `outer` blocks, in each of which the rows are contiguous.
struct AnchorRows {
  uint64_t bytes = 0;      // of a chunk
  uint64_t outer = 1;      // product of the dimensions before batching_dim
  uint64_t row_bytes = 0;  // of one row in one block
};

// Throws invalid_argument if a number or time of the options is outside its range.
void check_numbers(const RunnerConfig& config);

class RunnerPlan {
 public:
  // Throws not_found (no such replica or anchor), invalid_argument, and failed_precondition (the
  // model does not have batching_dim, or its rows affect each other).
  RunnerPlan(std::shared_ptr<const Model> model, RunnerConfig config);

  // Checks a request and writes one pointer for each anchor: null for an anchor that is not named
  // or is frozen. `copies` owns the copies of inputs that are in the memory of outputs. Returns the
  // number of rows. Throws not_found or invalid_argument.
  uint64_t resolve(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
                   const void** input_pointers, void** output_pointers,
                   std::vector<TensorMemory>& copies) const;

  // The part of resolve() that copies inputs and throws if two outputs are in the same memory. With
  // several shapes, it does nothing: the memory of an anchor may be smaller than the anchor, and
  // BucketRunner, which knows the sizes, has separated it.
  void separate_memory(const void** input_pointers, void* const* output_pointers, uint64_t rows,
                       std::vector<TensorMemory>& copies) const;

  // The part of resolve() for inputs.
  uint64_t rows_of_inputs(std::span<const InputBinding> inputs) const;
  // The shape of output `i` of a request with this number of rows.
  Shape output_shape(size_t i, uint64_t rows) const;

  // Whether the rows are whole batches. If the caller waits for them, they need not share a step
  // with others.
  bool are_whole_batches(uint64_t rows) const noexcept {
    return rows % (chunk_rows * replicas) == 0;
  }
  // Whether the device can use a request's memory without a copy, one chunk at a time.
  bool contiguous(uint64_t rows) const noexcept { return flat || rows == chunk_rows; }

  const std::shared_ptr<const Model> model;
  RunnerConfig config;
  std::vector<AnchorRows> inputs, outputs;
  std::vector<DataDesc> input_descs, output_descs;
  std::vector<bool> fixed;  // inputs that requests do not have
  // Copies of the values of frozen inputs. Values in the model are used in place.
  std::vector<TensorMemory> fixed_data;
  std::vector<const std::byte*> padding;    // of flush_by_name, by input, or null
  std::vector<std::byte*> padding_results;  // by output
  bool dynamic = false;
  bool several_shapes = false;  // the plan of a BucketRunner's model
  bool flat = true;             // whether AnchorRows::outer is 1 for every anchor
  uint64_t chunk_rows = 1;
  uint64_t replicas = 1;  // compiled in
  uint64_t step_chunks = 1, step_rows = 1;
  size_t depth = 64;
  bool tracing = false;
  uint64_t largest_input = 0;

 private:
  // Parts of the constructor.
  void fix_inputs();
  void divide_in_rows();
  void require_separate_rows() const;
  void plan_steps();
  void describe(const std::vector<program::Anchor>& anchors, std::vector<DataDesc>& to) const;
  void take_padding();

  std::vector<AnchorRows> rows_of(const std::vector<program::Anchor>& anchors) const;
  uint64_t compiled_loops() const;
};

}  // namespace poprt::runtime
