// Models that are loaded, and requests to them, independent of the protocol.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/admission.h"
#include "serve/cancellation.h"
#include "serve/limits.h"
#include "serving/known_shapes.h"
#include "serving/served_model.h"
#include "serving/timer.h"
#include "serving/worker.h"

namespace poprt::serve {

using serving::Error;

// Counters of a model for /metrics. They continue after a reload.
struct Counters {
  std::atomic<uint64_t> succeeded{0}, failed{0}, rejected{0}, rows{0}, nanoseconds{0};
};

// Calls a function of a request to a model. If it throws, counts the request as failed.
template <class Function>
auto count_failure(Counters& counters, Function&& function) {
  try {
    return function();
  } catch (const std::exception&) {
    counters.failed++;
    throw;
  }
}

// The threads and the known shapes of a model that has output sizes which are unknown until the
// shape of the request is compiled. The worker waits for the compilation of new shapes, so that
// Inference::submit() does not, and the timer ends requests that wait too long for it.
struct FirstRequests {
  explicit FirstRequests(int32_t max_shapes) : known(static_cast<size_t>(max_shapes)) {}

  serving::KnownShapes known;
  std::atomic<int64_t> waiting{0};  // tasks of the worker, also of requests that were ended
  serving::Timer timer;
  serving::Worker worker;
};

// A model that is ready.
struct LoadedModel {
  // Compiles the shapes of `warm_up`, which are lines for ServedModel::warm_up_text().
  LoadedModel(std::string name, std::string version, serving::ServedModel opened,
              const poprt_runner_options& options, std::shared_ptr<Counters> counters,
              const std::vector<std::string>& warm_up);

  const std::string name, version;
  const serving::ServedModel model;
  const serving::Runner runner;
  // For a model whose shapes are compiled on demand: merges requests whose sizes, except the number
  // of rows, were compiled ahead, if rows are independent. Otherwise null.
  const serving::Runner batching;
  const std::shared_ptr<Counters> counters;
  const std::unique_ptr<FirstRequests> first;  // null if all outputs can be allocated at once
};

// One input of a request. The memory belongs to the request.
struct InputTensor {
  std::string name;
  poprt_dtype dtype = 0;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  size_t bytes = 0;
};

// One output. The memory belongs to the result.
struct OutputTensor {
  const serving::TensorSpec* spec = nullptr;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  size_t bytes = 0;
};

struct Result {
  std::shared_ptr<const LoadedModel> model;
  std::optional<Error> error;
  std::vector<OutputTensor> outputs;  // those that were requested, in that order
  serving::Outputs memory;
};

// Called once: on a thread of the runner, on the thread that called submit() or
// Cancellation::cancel(), on the thread that waits for a compilation, or on that of the timer. Must
// not block or throw.
using Done = std::function<void(Result)>;

// Accepts requests and limits how many are in flight.
class Inference {
 public:
  explicit Inference(const Limits& limits)
      : limits_(limits), admission_(limits.waiting, "requests") {}

  // Submits a request. `wanted` are names of outputs; if empty, all outputs are computed. If
  // `timeout_ns` is not 0, the shorter of it and the server's limit applies. The inputs and their
  // shapes must stay valid until `done` is called, which may happen before submit() returns.
  // `cancellation` (may be null) ends the request with cancelled, unless its run has begun.
  // Throws Error: invalid_argument, resource_exhausted (too many requests are in flight or wait for
  // compilations), unavailable (the server stops), deadline_exceeded, and the errors of
  // poprt_outputs_create and poprt_runner_submit_tensors; then `done` is not called. Errors of a
  // request that waits for a compilation are in Result::error. Thread-safe.
  void submit(std::shared_ptr<const LoadedModel> model, const std::vector<InputTensor>& inputs,
              const std::vector<std::string>& wanted, Done done, int64_t timeout_ns = 0,
              std::shared_ptr<Cancellation> cancellation = nullptr);

  Admission& admission() { return admission_; }
  const Admission& admission() const { return admission_; }

 private:
  struct Job;
  struct WaitingJob;
  static void bind_tensors(Job& job, const LoadedModel& model,
                           const std::vector<InputTensor>& inputs,
                           const std::vector<std::string>& wanted);
  static poprt_runner* runner_for(const LoadedModel& model, const std::vector<InputTensor>& inputs,
                                  const std::vector<poprt_tensor>& bound);
  static int64_t remaining_ns(const Job& job);
  static Error too_late(const Job& job);
  static void start(std::unique_ptr<Job>& job);
  void start_later(std::unique_ptr<Job> job, serving::KnownShapes::Key key) const;
  static void start_waiting(WaitingJob& waiting);
  static void finished(poprt_error_code code, void* job);
  static void end_part(Job* job);
  static void complete(std::unique_ptr<Job> job, std::optional<Error> error);

  const Limits limits_;
  Admission admission_;
};

}  // namespace poprt::serve
