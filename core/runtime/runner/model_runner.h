// A runner of one model, which any number of threads may call at the same time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/runner/runner.h"
#include "runtime/runner/runner_plan.h"
#include "runtime/session/model.h"
#include "runtime/session/session.h"
#include "runtime/session/tensor_memory.h"

namespace poprt::runtime {

// Memory belongs to the caller and must be valid until the call returns or the request is done.
// Whole batches are used in place; parts of batches are copied to and from memory of the runner.
// Every input of requests and every output must be given exactly once, unless validate_io_params is
// off.
//
// A request has a whole number of batches or, with batching_dim, any number of rows. Whole steps,
// and whole batches of execute(), run immediately. Remaining rows wait up to `timeout` for other
// requests that complete the step; then it runs, and an incomplete batch is padded with zeros or
// flush_by_name.
//
// execute*() throw not_found (an unknown name, with the existing names in the message),
// invalid_argument (missing, duplicate, null, wrong size), cancelled (stopped), and errors of the
// device.
class ModelRunner : public BaseRunner {
 public:
  static constexpr size_t kMaxQueueDepth = size_t{1} << 20;

  // Acquires devices, prepares the program and runs its load programs. Throws the errors of
  // Session, unavailable (no free device in time), and not_found, invalid_argument or
  // failed_precondition for an unsuitable configuration.
  explicit ModelRunner(std::shared_ptr<const Model> model, RunnerConfig config = {});
  // Like stop(), but requests that have begun are finished. Afterwards no request uses memory of
  // the caller, each request is answered, and the devices are free. If a callback destroys the
  // runner, this is true only when the threads of the runner have ended, after the callback has
  // returned.
  ~ModelRunner() override;
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;

  const Model& model() const;
  const std::vector<DataDesc>& execute_inputs() const override;
  const std::vector<DataDesc>& execute_outputs() const override;
  RequestRows request_rows() const override;
  std::vector<Shape> output_shapes(std::span<const InputBinding> inputs) const override;

  using BaseRunner::execute;
  using BaseRunner::execute_async;

  // Whole batches run on the calling thread unless the model is pipelined; calls of several threads
  // take turns. Such a run does not allocate if there are at most 16 inputs and 16 outputs.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  // Runs one batch (for every compiled-in replica) with one pointer for each anchor, in the model's
  // order. Sizes are not checked. The pointers of inputs that requests do not have are ignored.
  // Throws invalid_argument (a null pointer for another anchor that has bytes), cancelled,
  // failed_precondition in a process that was forked during a call, or the error of the device.
  void execute(const void* const* inputs, void* const* outputs);

  // Requests of one replica (RequestOptions::replica selects it) run in the order of submission,
  // but whole steps and whole batches of execute() do not wait until an earlier incomplete batch
  // runs. RequestOptions::when_full determines the behaviour while queue_depth requests are in
  // flight; a callback cannot wait, so WhenFull::wait throws resource_exhausted there. Throws
  // failed_precondition in a process that was forked after the first asynchronous request. Without
  // a timeout and WhenFull::line, it allocates only if more requests exist than at any time before.
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;

  // Fails waiting requests, running ones (which end early, as by Session::stop()) and later calls
  // with cancelled. Returns when the devices are idle and every request is done. In a callback it
  // does not wait: it could wait for itself, or for a callback of another replica that also waits.
  void stop() noexcept override;
  void drain() noexcept override;

  // Whether the calling thread is one of the runner, which is so in the callback of a request that
  // it has run. Waiting for a request there may never end.
  bool on_thread() const noexcept;

  RunnerStatistics statistics() const override;
  RunnerStatistics statistics(size_t replica) const override;
  size_t replicas() const override;
  std::vector<Tracepoint> tracepoints() const override;

  // Sets new bytes for inputs that are frozen or for which the model has data, all of them between
  // two runs. Throws not_found, invalid_argument (wrong size, or a null pointer) and
  // failed_precondition (an input of requests, or the random seed).
  void update_inputs(const InputMemoryView& values);

  // Times by instruction on the first device of replica 0 since its session was created, or created
  // again by auto_reset. Throws failed_precondition unless the session was loaded with profile.
  std::vector<device::InstructionProfile> profile();
  int threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace poprt::runtime
