// A runner whose model and device can be let go and taken back, and whose weights can be replaced.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runner/model_runner.h"

namespace poprt::runtime {

struct LightRunnerConfig {
  SessionConfig session;
  std::map<int, std::shared_ptr<device::Device>> replica_id_to_device;
};

// Not thread-safe; requests are.
class LightRunner final : public BaseRunner {
 public:
  explicit LightRunner(std::shared_ptr<const Model> model, LightRunnerConfig config = {});

  // What requests give; and everything, with the weights, which come with the model.
  const std::vector<DataDesc>& execute_inputs() const override { return execute_inputs_; }
  const std::vector<DataDesc>& model_inputs() const { return model_inputs_; }
  const std::vector<DataDesc>& execute_outputs() const override { return outputs_; }

  using BaseRunner::execute;
  using BaseRunner::execute_async;
  // Throw what ModelRunner's do; cancelled while stopped.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;

  // New bytes (copied) for an input that comes with the model; nothing changes before
  // update_weights(). Throws not_found, invalid_argument (wrong size), failed_precondition
  // (requests give it).
  void set_input_anchor(const std::string& name, ConstTensorMemoryView data);
  // The next run uses all that was set since the last call. Also allowed while stopped.
  void update_weights();

  // Ends what runs, fails what waits, and frees the device for others. Repeatable.
  void stop() noexcept override;
  // Takes a device again; the weights stay as they were last updated. Throws what ModelRunner's
  // constructor throws; does nothing unless stopped.
  void reload();
  bool stopped() const { return !runner_; }

  // Since the last reload; a stopped runner has no replicas.
  RunnerStatistics statistics() const override;
  RunnerStatistics statistics(size_t replica) const override;
  size_t replicas() const override;
  std::vector<Tracepoint> tracepoints() const override;

 private:
  ModelRunner& runner();

  std::shared_ptr<const Model> model_;
  LightRunnerConfig config_;
  std::unique_ptr<ModelRunner> runner_;
  std::vector<DataDesc> model_inputs_, execute_inputs_, outputs_;
  std::vector<size_t> positions_;  // of execute_inputs_ in the model
  std::map<std::string, TensorMemory> pending_, updated_;
};

}  // namespace poprt::runtime
