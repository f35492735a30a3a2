// What all runners have in common.
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

// One anchor's memory in a request: by name, or by index when the name has a null data(). The shape
// may be null: only runners for several shapes ask for it.
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
  bool popef_contains_tensor_data = false;  // need not be given
};
// Which shapes a request may have.
struct RequestRows {
  enum Kind : uint8_t {
    batches,  // a whole number of compiled ones, as another dimension or along the first
    along,    // any number along dimension `dim`
    any,      // the runner's own rules, by size
  };
  Kind kind = batches;
  uint32_t dim = 0;
  uint32_t left_out = 0;  // leading dimensions of descriptions that requests do not have
};
using InputDesc = DataDesc;
using OutputDesc = DataDesc;

// Memory stays the caller's and must be valid until the call returns or the request is done.
// Inputs and outputs do not overlap.
class BaseRunner {
 public:
  virtual ~BaseRunner() = default;

  // In the order that indices of bindings mean.
  virtual const std::vector<DataDesc>& execute_inputs() const = 0;
  virtual const std::vector<DataDesc>& execute_outputs() const = 0;
  virtual RequestRows request_rows() const { return {}; }
  // Shapes of the outputs of a request with these inputs, in the order of execute_outputs(). Throws
  // what execute() would throw for the inputs.
  virtual std::vector<Shape> output_shapes(std::span<const InputBinding> inputs) const;

  // Which outputs a request with these inputs has, in the order of execute_outputs(): all, but for
  // a fused model. Throws as above.
  virtual std::vector<size_t> outputs_of(std::span<const InputBinding> inputs) const;

  virtual void execute(std::span<const InputBinding> inputs,
                       std::span<const OutputBinding> outputs) = 0;
  virtual RequestPtr execute_async(std::span<const InputBinding> inputs,
                                   std::span<const OutputBinding> outputs,
                                   RequestCallback callback = {},
                                   const RequestOptions& options = {}) = 0;

  // Requests that wait or run fail with cancelled, and so do later calls. Returns when no request
  // is left.
  virtual void stop() noexcept = 0;

  // Of all replicas; and of one, where they count for themselves: else replicas() is 0. Throws
  // not_found (an unknown one), unimplemented (none counts for itself).
  virtual RunnerStatistics statistics() const = 0;
  virtual RunnerStatistics statistics(size_t replica) const;
  virtual size_t replicas() const { return 0; }
  virtual std::vector<Tracepoint> tracepoints() const = 0;

  // The same by name. The second allocates the outputs, of the sizes that execute_outputs() says.
  void execute(const InputMemoryView& inputs, const OutputMemoryView& outputs);
  OutputMemory execute(const InputMemoryView& inputs);
  RequestPtr execute_async(const InputMemoryView& inputs, const OutputMemoryView& outputs,
                           RequestCallback callback = {});
  // The memory must live until the request is done.
  std::pair<RequestPtr, OutputMemory> execute_async(const InputMemoryView& inputs);

 private:
  OutputMemory allocate(std::span<const InputBinding> inputs,
                        std::vector<OutputBinding>& outputs) const;
};

}  // namespace poprt::runtime
