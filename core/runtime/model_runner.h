// Serves a model to any number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/model.h"
#include "runtime/request.h"
#include "runtime/session.h"
#include "runtime/tensor_memory.h"

namespace poprt::runtime {

struct RunnerConfig {
  SessionConfig session;
  // Asynchronous requests in flight; one more makes execute_async() block.
  size_t queue_depth = 64;
};

// One anchor's memory in a request: by name, or by index when the name has a null data().
struct InputBinding {
  std::string_view name;
  size_t index = 0;
  const void* data = nullptr;
  uint64_t bytes = 0;
};
struct OutputBinding {
  std::string_view name;
  size_t index = 0;
  void* data = nullptr;
  uint64_t bytes = 0;
};

// Memory stays the caller's, is used in place, and must be valid until the call returns or the
// request is done. Every input and output is given exactly once; inputs and outputs do not overlap.
//
// execute*() throw not_found (a name that is not there, listing those that are), invalid_argument
// (missing, twice, null, wrong size), cancelled (stopped), and nothing else.
class ModelRunner {
 public:
  static constexpr size_t kMaxQueueDepth = size_t{1} << 20;

  // Acquires a device, prepares the program and runs its load programs. Throws what Session throws,
  // invalid_argument for a queue_depth outside [1, kMaxQueueDepth].
  explicit ModelRunner(std::shared_ptr<const Model> model, RunnerConfig config = {});
  // Requests in flight are still run, in the background; their memory must stay valid. Does not
  // block. The device is free when nothing is in flight.
  ~ModelRunner();
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;

  const Model& model() const;

  // Runs once on the calling thread; calls of several threads take turns. No allocation.
  void execute(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs);
  // One pointer per anchor in the model's order, sizes unchecked. Throws invalid_argument (a null
  // pointer for an anchor that has bytes) or cancelled.
  void execute(const void* const* inputs, void* const* outputs);
  // The same by name; the first allocates the outputs.
  OutputMemory execute(const InputMemoryView& inputs);
  void execute(const InputMemoryView& inputs, const OutputMemoryView& outputs);

  // Requests run in the order of submission. Blocks while queue_depth requests are in flight; from
  // a callback it throws resource_exhausted instead. Throws failed_precondition in a process that
  // was forked off after the first asynchronous request.
  std::shared_ptr<Request> execute_async(std::span<const InputBinding> inputs,
                                         std::span<const OutputBinding> outputs,
                                         RequestCallback callback = {});
  std::shared_ptr<Request> execute_async(const InputMemoryView& inputs,
                                         const OutputMemoryView& outputs);

  // Requests that wait fail with cancelled, and so do later calls. Returns when the device is idle
  // and every request is done. Not from a callback (it would wait for itself): there it only asks.
  void stop() noexcept;

  // Per instruction since the runner was made. Throws failed_precondition unless the session was
  // loaded with profile.
  std::vector<device::InstructionProfile> profile();
  int threads() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace poprt::runtime
