// A runner that compiles its model at each shape when the first request of that shape arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/open_shapes.h"
#include "runtime/runner/model_runner.h"

namespace poprt::runtime {

// A model at one shape of each input.
struct CompiledShape {
  std::shared_ptr<const Model> model;
  bool from_cache = false;
};
// Compiles the model at these shapes of its inputs, in the order of OpenShapes::inputs. It is
// called on the thread of the runner, for one shape at a time.
using CompileShape = std::function<CompiledShape(const std::vector<Shape>& inputs)>;

struct ShapeRunnerConfig {
  static constexpr size_t kDefaultShapes = 16;

  RunnerConfig runner;  // of the runner of each shape
  // The largest number of shapes that are kept, without the one that was compiled ahead; 0 counts
  // as 1.
  size_t max_shapes = kDefaultShapes;
  // The largest number of bytes that these shapes may need together: of each, the memory for one
  // run of every replica, and one request with its outputs. 0: no limit.
  uint64_t max_memory = 0;
};

// The statistics of one shape.
struct ShapeStatistics {
  std::vector<int64_t> sizes;  // in the order of ShapeRunner::sizes()
  bool ahead = false;          // compiled before the runner was created
  bool from_cache = false;
  uint64_t compile_ns = 0;  // until the runner of the shape was ready
  // Requests that the runner of this shape accepted, and calls of execute() that succeeded.
  uint64_t requests = 0;
  uint64_t padded = 0;  // requests among them that are smaller than the shape
};
struct ShapesStatistics {
  std::vector<ShapeStatistics> shapes;  // the ready ones: the one compiled ahead, then by last use
  uint64_t compiled = 0, from_cache = 0, failed = 0, removed = 0;
};

// A request may have any sizes. The shape of a request is looked up among the shapes that are kept.
// If it is there, the ModelRunner of the shape computes the request in place. Otherwise a thread of
// the runner compiles it. Until it is ready
// * requests of other shapes run;
// * if the compiler has proved that rows of the first dimension do not affect each other
//   (program/batch_rows.h), a larger shape computes the request, padded with zeros;
// * other requests of the shape wait: execute() blocks, and execute_async() does not.
// If more than max_shapes are kept, or they need more than max_memory, the least recently used one
// is removed: later requests do not find it, and it is destroyed when its requests are done. A
// shape that needs more alone is refused (invalid_argument). A shape that fails to compile fails
// the requests that wait for it; the next request of the shape compiles it again.
//
// Each shape has separate memory for one run. Its weights are those of the first shape as far as
// they are equal (program/shared_weights.h).
//
// If a binding has no shape, its size in bytes and the other inputs must determine it. If they
// leave several possibilities, the shape that was compiled ahead is used if it has these sizes in
// bytes.
//
// Requests are not merged, so batching_dim must be off. Frozen inputs have one shape.
//
// A forked child has the shapes that were ready, and compiles others on another thread. It
// refuses these (failed_precondition) if a thread of the parent was compiling a shape, because that
// thread may have locks of the compiler. If another thread of the parent was in a call of this
// object, all calls may fail with failed_precondition.
class ShapeRunner final : public BaseRunner {
 public:
  // The number of shapes that may wait for their compilation. A shape is compiled even if the
  // request that needs it is cancelled.
  static constexpr size_t kMostWaiting = 1024;

  // `ahead` was compiled at one shape and is never removed. If it is null, no device is in use
  // until the first request. Throws invalid_argument for an unsuitable configuration, unimplemented
  // if `ahead` has other inputs or outputs than `shapes`, and the errors of ModelRunner.
  ShapeRunner(program::OpenShapes shapes, CompileShape compile, std::shared_ptr<const Model> ahead,
              ShapeRunnerConfig config);
  // Like stop(), but requests that have begun are finished. Waits for a compilation in progress,
  // unless it is called in a callback on the thread that compiles.
  ~ShapeRunner() override;
  ShapeRunner(const ShapeRunner&) = delete;
  ShapeRunner& operator=(const ShapeRunner&) = delete;

  // The shapes have the sizes that were compiled ahead. Without these, open dimensions are kOpen,
  // and the size in bytes of an anchor with such a dimension is 0.
  const std::vector<DataDesc>& execute_inputs() const override;
  const std::vector<DataDesc>& execute_outputs() const override;
  RequestRows request_rows() const override { return {RequestRows::any, 0, 0}; }
  // Waits until the shape is compiled, if a size of an output does not follow from the inputs by
  // its name.
  std::vector<Shape> output_shapes(std::span<const InputBinding> inputs) const override;

  using BaseRunner::execute;
  using BaseRunner::execute_async;
  // Throw the errors of ModelRunner and of the compilation, and invalid_argument for shapes that
  // contradict each other or the model, or that need more than max_memory; resource_exhausted if
  // kMostWaiting shapes wait for their compilation.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;
  // Compiles the model at these shapes of its inputs, by name, and waits until it is ready. Inputs
  // whose sizes all follow from other inputs may be omitted.
  void warm_up(const std::map<std::string, Shape>& inputs);

  void stop() noexcept override;
  void drain() noexcept override;
  RunnerStatistics statistics() const override;
  RunnerStatistics statistics(size_t replica) const override;
  size_t replicas() const override;
  std::vector<Tracepoint> tracepoints() const override;
  ShapesStatistics shapes() const;

  // The names of the dimensions whose sizes requests decide.
  const std::vector<std::string>& sizes() const;
  // The inputs and outputs, in the order of indices, with the sizes that requests decide.
  const program::OpenShapes& open_shapes() const;
  // The runner of the shape that was compiled ahead, or null.
  ModelRunner* ahead() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace poprt::runtime
