// A runner for several models that were fused into one executable.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/runner/model_runner.h"

namespace poprt::runtime {

// The anchors of a fused model are called "graphK/NAME", and an input "index" (one u32, or u8 as in
// version 1.0.2 of PopRT) selects the graph. A request names anchors of one graph only, and the
// runner adds the index. A request may contain the index, as programs for version 1.2 of PopRT do;
// then it must select the same graph. Inputs of the other graphs get zeros, and their outputs are
// dropped.
//
// Requests are not merged, so batching_dim must be off.
class ModelFusionRunner final : public BaseRunner {
 public:
  // `config` is as for ModelRunner. validate_io_params is off for the inner runner; unless it is
  // off in `config`, this class checks names and sizes against the chosen graph. Throws
  // failed_precondition if the model is not a fused one, invalid_argument if batching_dim is on,
  // and the errors of ModelRunner.
  explicit ModelFusionRunner(std::shared_ptr<const Model> model, RunnerConfig config = {});

  // Without the index.
  const std::vector<DataDesc>& execute_inputs() const override { return inputs_; }
  const std::vector<DataDesc>& execute_outputs() const override {
    return runner_.execute_outputs();
  }
  size_t graphs() const { return requests_.size(); }
  // The number of requests that the queue accepted, and of calls of execute() that succeeded, by
  // graph.
  std::vector<uint64_t> graph_requests() const;
  // The outputs of the graph to which the inputs belong. Throws invalid_argument for inputs of no
  // graph.
  std::vector<size_t> outputs_of(std::span<const InputBinding> inputs) const override;

  using BaseRunner::execute;
  using BaseRunner::execute_async;
  // Throw the errors of ModelRunner, and invalid_argument for names of two graphs or of none.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;
  void stop() noexcept override { runner_.stop(); }
  void drain() noexcept override { runner_.drain(); }
  RunnerStatistics statistics() const override { return runner_.statistics(); }
  RunnerStatistics statistics(size_t replica) const override { return runner_.statistics(replica); }
  size_t replicas() const override { return runner_.replicas(); }
  std::vector<Tracepoint> tracepoints() const override { return runner_.tracepoints(); }

 private:
  struct Selected {
    std::vector<InputBinding> inputs;  // with the index, and with names instead of indices
    uint32_t graph;
  };
  Selected select(std::span<const InputBinding> inputs,
                  std::span<const OutputBinding> outputs) const;
  void check_complete(uint32_t graph, std::span<const InputBinding> inputs,
                      std::span<const OutputBinding> outputs) const;
  void check_index(const InputBinding& given, uint32_t graph) const;

  const bool validate_;
  ModelRunner runner_;
  std::vector<DataDesc> inputs_;
  uint64_t index_bytes_ = 0;
  std::vector<std::atomic<uint64_t>> requests_;
};

}  // namespace poprt::runtime
