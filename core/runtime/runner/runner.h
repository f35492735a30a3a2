// The base class of all runners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/program.h"
#include "runtime/queue/request.h"
#include "runtime/session/tensor_memory.h"
#include "runtime/telemetry/statistics.h"

namespace poprt::runtime {

// The memory of one anchor in a request: by name, or by index if data() of the name is null. The
// shape may be null; only runners for several shapes use it, and pack runners that of an input.
struct InputBinding {
  std::string_view name;
  size_t index = 0;
  const void* data = nullptr;
  uint64_t bytes = 0;
  const int64_t* shape = nullptr;
  size_t rank = 0;
};
struct OutputBinding {
  std::string_view name;
  size_t index = 0;
  void* data = nullptr;
  uint64_t bytes = 0;
  const int64_t* shape = nullptr;
  size_t rank = 0;
};

// An input or output as callers see it.
struct DataDesc {
  program::Anchor anchor;
  uint64_t size_in_bytes = 0;
  bool popef_contains_tensor_data = false;  // whether requests need not contain it
};
// The shapes that a request may have.
struct RequestRows {
  enum Kind : uint8_t {
    batches,  // a whole number of compiled batches, as a new dimension or along the first one
    along,    // any number along dimension `dim`
    any,      // checked by the runner, by size
  };
  Kind kind = batches;
  uint32_t dim = 0;
  uint32_t left_out = 0;   // number of leading dimensions of descriptions that requests do not have
  bool may_batch = false;  // whether the option batching_dim may allow any number of rows
};
using InputDesc = DataDesc;
using OutputDesc = DataDesc;

// Memory belongs to the caller and must be valid until the call returns or the request is done.
// If an output is in the memory of an input, the run reads a copy of the input. Two outputs in the
// same memory are an invalid_argument. Any thread may call the functions, unless a class states
// otherwise or RunnerConfig::thread_safe is false.
class BaseRunner {
 public:
  virtual ~BaseRunner() = default;

  // In the order of the indices in bindings.
  virtual const std::vector<DataDesc>& execute_inputs() const = 0;
  virtual const std::vector<DataDesc>& execute_outputs() const = 0;
  virtual RequestRows request_rows() const { return {}; }
  // The shapes of the outputs of a request with these inputs, in the order of execute_outputs().
  // Throws the errors of execute() for the inputs.
  virtual std::vector<Shape> output_shapes(std::span<const InputBinding> inputs) const;

  // The indices of the outputs of a request with these inputs, in the order of execute_outputs():
  // all of them, except for a fused model. Throws as above.
  virtual std::vector<size_t> outputs_of(std::span<const InputBinding> inputs) const;

  virtual void execute(std::span<const InputBinding> inputs,
                       std::span<const OutputBinding> outputs) = 0;
  virtual RequestPtr execute_async(std::span<const InputBinding> inputs,
                                   std::span<const OutputBinding> outputs,
                                   RequestCallback callback = {},
                                   const RequestOptions& options = {}) = 0;

  // Fails waiting and running requests and later calls with cancelled. Returns when no request is
  // left, but in a callback without waiting.
  virtual void stop() noexcept = 0;
  // From now on, requests do not wait for others that would fill their batch: an incomplete batch
  // runs at once. Thread-safe. It has no effect on a PackRunner, whose requests wait at most its
  // timeout, and on a LightRunner, which forms no batches.
  virtual void drain() noexcept {}

  // The statistics of all replicas, and of one replica. replicas() is 0 if the runner has no
  // separate statistics for them. Throws not_found (an unknown replica) and unimplemented (no
  // separate statistics).
  virtual RunnerStatistics statistics() const = 0;
  virtual RunnerStatistics statistics(size_t replica) const;
  virtual size_t replicas() const { return 0; }
  virtual std::vector<Tracepoint> tracepoints() const = 0;

  // The same with memory by name. The functions that return OutputMemory allocate the outputs with
  // the sizes in execute_outputs().
  void execute(const InputMemoryView& inputs, const OutputMemoryView& outputs);
  OutputMemory execute(const InputMemoryView& inputs);
  RequestPtr execute_async(const InputMemoryView& inputs, const OutputMemoryView& outputs,
                           RequestCallback callback = {});
  // The input memory and the returned memory must live until the request is done.
  std::pair<RequestPtr, OutputMemory> execute_async(const InputMemoryView& inputs);

 private:
  OutputMemory allocate(std::span<const InputBinding> inputs,
                        std::vector<OutputBinding>& outputs) const;
};

}  // namespace poprt::runtime
