// Serves several models that were fused into one executable.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/runner/model_runner.h"

namespace poprt::runtime {

// A fused model's anchors are called "graphK/NAME", and an input "index" (one u32, or u8 as in
// version 1.0.2) says which graph runs. A request names anchors of one graph only; the runner gives
// the index (a request that has it, as programs for version 1.2 do, must say the same). Inputs of
// the other graphs deliver zeros and their outputs are dropped.
//
// Requests are not merged: batching_dim must be off.
class ModelFusionRunner final : public BaseRunner {
 public:
  // `config` as for ModelRunner; validate_io_params is off underneath, names and sizes are checked
  // here against the chosen graph unless it is off already. Throws failed_precondition when the
  // model is not a fused one.
  explicit ModelFusionRunner(std::shared_ptr<const Model> model, RunnerConfig config = {});

  const std::vector<DataDesc>& execute_inputs() const override { return inputs_; }  // no index
  const std::vector<DataDesc>& execute_outputs() const override {
    return runner_.execute_outputs();
  }
  size_t graphs() const { return requests_.size(); }
  // Requests of each graph that were accepted.
  std::vector<uint64_t> graph_requests() const;
  // Those of the graph whose anchors the inputs are.
  std::vector<size_t> outputs_of(std::span<const InputBinding> inputs) const override;

  using BaseRunner::execute;
  using BaseRunner::execute_async;
  // Throw what ModelRunner's do, and invalid_argument for names of two graphs or of none.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;
  void stop() noexcept override { runner_.stop(); }
  RunnerStatistics statistics() const override { return runner_.statistics(); }
  RunnerStatistics statistics(size_t replica) const override { return runner_.statistics(replica); }
  size_t replicas() const override { return runner_.replicas(); }
  std::vector<Tracepoint> tracepoints() const override { return runner_.tracepoints(); }

 private:
  struct Selected {
    std::vector<InputBinding> inputs;  // with the index; names instead of positions
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
