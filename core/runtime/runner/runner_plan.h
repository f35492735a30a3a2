// What a model runner settles once: configuration, and how requests divide into the device's
// batches.
//
// A row is what a request is made of: with batching_dim, one index along that dimension; without,
// one whole batch. A chunk is what one run of the device computes: `chunk_rows` rows. A step is
// what the device is given at a time: one chunk for every compiled-in replica and every one of
// batches_per_step.
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

// A padding request: rows of `inputs` stand for the missing rows of a batch, whose results go to
// `outputs`. As any request it names all that requests give and all outputs (unless
// validate_io_params is off); or nothing. The memory has the anchor's size and outlives the runner.
struct FlushByName {
  InputMemoryView inputs;
  OutputMemoryView outputs;
};

// PopRT's RuntimeConfig, with its defaults; what is ours says so.
struct RunnerConfig {
  static constexpr auto kNever = std::chrono::nanoseconds::max();
  static constexpr auto kDoNotWait = std::chrono::nanoseconds::zero();

  SessionConfig session;  // the device of replica 0, and how engines are loaded
  // Ours: requests in flight per replica; one more makes execute_async() block. 0: the ring size.
  size_t queue_depth = 0;
  // Locks a mutex per replica at submission. Off: only one thread at a time uses the runner.
  bool thread_safe = true;
  // How long a started batch waits for its next rows before it is padded; 0: for ever.
  std::chrono::nanoseconds timeout = std::chrono::milliseconds(10);
  // Off: unknown names are ignored, anchors that are not named deliver zeros or are dropped, and
  // sizes are believed: the first named anchor's tells how many rows all have.
  bool validate_io_params = true;
  // The dimension along which requests may have any size; UINT32_MAX: whole batches only.
  uint32_t batching_dim = UINT32_MAX;
  // Ring size in requests: it x the rows of a step. The default is at least 64 requests, so that
  // single rows do not wait for each other's callers. With overlap_io also how many steps are
  // staged.
  static constexpr size_t kDefaultMultiplier = 2;
  size_t ring_buffer_size_multiplier = kDefaultMultiplier;
  bool auto_reset = false;
  // Pad only when somebody waits for a request of the batch (or has given a callback).
  bool flush_on_waiting_outputs = false;
  // With is_batch_size_timeout_enabled: from a batch's first row until it is padded, and from the
  // first complete batch of a step until the step goes without the others.
  std::chrono::nanoseconds batch_size_timeout = kNever;
  std::chrono::nanoseconds data_parallel_timeout = kNever;
  bool is_batch_size_timeout_enabled = false;
  // Tracepoints kept, 0: all. Recorded only with flush_on_waiting_outputs, as PopRT documents.
  size_t request_tracepoints_buffer_size = 1000;
  // Copies of the model, each on its own device(s), that share the requests.
  int replication_factor = 1;
  // Devices of the replicas by number; the others get any free one.
  std::map<int, std::shared_ptr<device::Device>> replica_id_to_device;
  // Ours: which processes the devices are shared with, as device::ManagerConfig::shared.
  std::string shared_devices;
  // Constant values, copied, of the compiled size: those inputs are left out of requests.
  InputMemoryView frozen_inputs;
  FlushByName flush_by_name;
  // How long to try when no device is free (kDoNotWait, kNever), and the pause between attempts.
  std::chrono::nanoseconds device_wait_timeout = std::chrono::seconds(1);
  std::chrono::nanoseconds device_wait_sleep = std::chrono::seconds(6);
  // Ours: copy a step's inputs in and outputs out on threads of their own while another computes.
  // On also when the model was compiled so.
  bool overlap_io = false;
  // Ours: 0 is what the model was compiled for, or as many as kStagedBytes have room for.
  int64_t batches_per_step = 0;
  // Ours: null is what POPRT_INJECT_FAULTS says.
  std::shared_ptr<FaultInjector> faults;
  Clock clock;
};

// How an anchor's bytes divide in rows: `outer` blocks, each with its rows next to each other.
struct AnchorRows {
  uint64_t bytes = 0;      // of a chunk
  uint64_t outer = 1;      // product of the dimensions before batching_dim
  uint64_t row_bytes = 0;  // of one row in one block
};

class RunnerPlan {
 public:
  // Throws invalid_argument and failed_precondition (the model does not have batching_dim).
  RunnerPlan(std::shared_ptr<const Model> model, RunnerConfig config);

  // Checks a request and writes one pointer per anchor: null for one that is not connected (or is
  // frozen). Returns how many rows it has. Throws not_found or invalid_argument.
  uint64_t resolve(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
                   const void** input_pointers, void** output_pointers) const;

  // The part of resolve() about inputs.
  uint64_t rows_of_inputs(std::span<const InputBinding> inputs) const;
  // Shape of output `i` of a request with so many rows.
  Shape output_shape(size_t i, uint64_t rows) const;

  // Whole batches, which a caller that waits for them need not share a step with others.
  bool whole(uint64_t rows) const noexcept { return rows % (chunk_rows * replicas) == 0; }
  // The device can use a request's memory without a copy, a chunk at a time.
  bool contiguous(uint64_t rows) const noexcept { return flat || rows == chunk_rows; }

  const std::shared_ptr<const Model> model;
  RunnerConfig config;
  std::vector<AnchorRows> inputs, outputs;
  std::vector<DataDesc> input_descs, output_descs;
  std::vector<bool> fixed;                  // inputs that requests do not give
  std::vector<TensorMemory> fixed_data;     // of frozen ones; what the model has stays there
  std::vector<const std::byte*> padding;    // of flush_by_name, per input, or null
  std::vector<std::byte*> padding_results;  // per output
  bool dynamic = false;
  bool flat = true;  // no anchor has dimensions before batching_dim
  uint64_t chunk_rows = 1;
  uint64_t replicas = 1;  // compiled in
  uint64_t step_chunks = 1, step_rows = 1;
  size_t depth = 64;
  bool tracing = false;
  uint64_t largest_input = 0;

 private:
  // The steps of construction, in their order.
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
