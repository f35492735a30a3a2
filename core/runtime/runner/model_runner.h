// Serves a model to any number of threads.
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

// Memory stays the caller's and must be valid until the call returns or the request is done. Whole
// batches are used in place; parts of batches are copied to and from the device's memory. Every
// input that requests give, and every output, is given exactly once, unless validate_io_params is
// off.
//
// A request may have a whole number of batches, or with batching_dim any number of rows. Batches
// run at once; the rows that are left wait up to `timeout` for other requests to complete the
// batch, which is then padded with zeros.
//
// execute*() throw not_found (a name that is not there, listing those that are), invalid_argument
// (missing, twice, null, wrong size), cancelled (stopped), and what the device failed with.
class ModelRunner : public BaseRunner {
 public:
  static constexpr size_t kMaxQueueDepth = size_t{1} << 20;

  // Acquires devices, prepares the program and runs its load programs. Throws what Session throws,
  // unavailable (no free device in time), and invalid_argument or failed_precondition for a
  // configuration that does not fit.
  explicit ModelRunner(std::shared_ptr<const Model> model, RunnerConfig config = {});
  // As stop(), but what has begun is finished: no request uses its memory afterwards, each was
  // answered, and the devices are free. From a callback all that follows when the callback returns.
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

  // Whole steps run on the calling thread; calls of several threads take turns. No allocation.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  // One pointer per anchor in the model's order, sizes unchecked: one batch (for every compiled-in
  // replica). Throws invalid_argument (a null pointer for an anchor that has bytes) or cancelled.
  void execute(const void* const* inputs, void* const* outputs);

  // Requests of one replica run in the order of submission; RequestOptions::replica names it.
  // RequestOptions::when_full says what happens while queue_depth requests are in flight; a
  // callback cannot wait then, so that WhenFull::wait throws resource_exhausted there. Throws
  // failed_precondition in a process that was forked off after the first asynchronous request. No
  // allocation once as many requests have been alive at a time.
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;

  // Requests that wait fail with cancelled, and so do later calls and what computes, which ends
  // early (as by Session::stop()). Returns when the device is idle and every request is done. Not
  // from a callback (it would wait for itself): there it only asks.
  void stop() noexcept override;

  // True in callbacks of requests that were served: whoever waits for a request there waits for
  // ever.
  bool on_thread() const noexcept;

  RunnerStatistics statistics() const override;
  RunnerStatistics statistics(size_t replica) const override;
  size_t replicas() const override;
  std::vector<Tracepoint> tracepoints() const override;

  // New bytes for inputs that are frozen or come with the model; all at once, between two runs.
  // Throws not_found, invalid_argument (wrong size), failed_precondition (requests give it).
  void update_inputs(const InputMemoryView& values);

  // Per instruction of replica 0 since the runner was made. Throws failed_precondition unless the
  // session was loaded with profile.
  std::vector<device::InstructionProfile> profile();
  int threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace poprt::runtime
