// A runner that can release and regain its device, and whose weights can be replaced.
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

// Several threads may call execute() and execute_async() at the same time. Other functions are not
// thread-safe.
class LightRunner final : public BaseRunner {
 public:
  explicit LightRunner(std::shared_ptr<const Model> model, LightRunnerConfig config = {});

  // execute_inputs() returns the inputs of requests. model_inputs() also returns the weights, for
  // which the model has data.
  const std::vector<DataDesc>& execute_inputs() const override { return execute_inputs_; }
  const std::vector<DataDesc>& model_inputs() const { return model_inputs_; }
  const std::vector<DataDesc>& execute_outputs() const override { return outputs_; }

  using BaseRunner::execute;
  using BaseRunner::execute_async;
  // Throw the errors of ModelRunner, and cancelled while stopped.
  void execute(std::span<const InputBinding> inputs,
               std::span<const OutputBinding> outputs) override;
  RequestPtr execute_async(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs, RequestCallback callback = {},
                           const RequestOptions& options = {}) override;

  // Sets new bytes (copied) for an input for which the model has data. They are used from the next
  // update_weights() on. Throws not_found, invalid_argument (wrong size, or a null pointer) and
  // failed_precondition (an input of requests, or the random seed).
  void set_input_anchor(const std::string& name, ConstTensorMemoryView data);
  // The next run uses all values that were set since the last call. Also allowed while stopped.
  void update_weights();

  // Ends current runs, fails waiting requests, and releases the device. May be called repeatedly.
  void stop() noexcept override;
  // Acquires a device again; the weights keep their last updated values. Throws the errors of
  // ModelRunner's constructor. Has no effect unless stopped.
  void reload();
  bool stopped() const { return !runner_; }

  // The statistics count from the last reload. A stopped runner has only zeros, and no replicas.
  RunnerStatistics statistics() const override;
  RunnerStatistics statistics(size_t replica) const override;
  size_t replicas() const override;
  std::vector<Tracepoint> tracepoints() const override;

 private:
  ModelRunner& runner();
  std::vector<InputBinding> inputs_of_model(std::span<const InputBinding> inputs) const;

  std::shared_ptr<const Model> model_;
  LightRunnerConfig config_;
  std::unique_ptr<ModelRunner> runner_;
  std::vector<DataDesc> model_inputs_, execute_inputs_, outputs_;
  std::vector<size_t> positions_;  // indices of execute_inputs_ in the model
  std::map<std::string, TensorMemory> pending_, updated_;
};

}  // namespace poprt::runtime
