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
#include "serving/served_model.h"

namespace poprt::serve {

using serving::Error;

struct Limits {
  size_t request_bytes = size_t{64} << 20;  // body of a request
  size_t json_bytes = size_t{16} << 20;     // JSON in it, which needs more memory than its text
  size_t header_bytes = size_t{32} << 10;
  unsigned connections = 4096;  // of HTTP
  int64_t waiting = 1024;       // requests in flight
  int64_t texts = 64;           // of generators, that wait or are generated
  int64_t request_ns = 0;       // how long a request may wait for its computation; 0: no limit
};

// Counters of a model for /metrics. They continue after a reload.
struct Counters {
  std::atomic<uint64_t> succeeded{0}, failed{0}, rejected{0}, rows{0}, nanoseconds{0};
};

// A model that is ready.
struct LoadedModel {
  LoadedModel(std::string name, serving::ServedModel opened, const poprt_runner_options& options,
              std::shared_ptr<Counters> counters);

  const std::string name;
  const serving::ServedModel model;
  const serving::Runner runner;
  const std::shared_ptr<Counters> counters;
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

// Called once, on a thread of the runner. Must not block.
using Done = std::function<void(Result)>;

// Accepts requests and limits how many are in flight.
class Inference {
 public:
  explicit Inference(const Limits& limits)
      : limits_(limits), admission_(limits.waiting, "requests") {}

  // Submits a request. `wanted` are names of outputs; if empty, all outputs are computed. The
  // memory of the inputs must stay valid until `done` is called. Throws Error: invalid_argument,
  // not_found, resource_exhausted (too many requests in flight), unavailable (the server stops),
  // and those of poprt_runner_submit; then `done` is not called.
  void submit(std::shared_ptr<const LoadedModel> model, const std::vector<InputTensor>& inputs,
              const std::vector<std::string>& wanted, Done done);

  Admission& admission() { return admission_; }
  const Admission& admission() const { return admission_; }

 private:
  struct Job;
  static void finished(poprt_error_code code, void* job);

  const Limits limits_;
  Admission admission_;
};

}  // namespace poprt::serve
