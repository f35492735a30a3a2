#include "runtime/runner/light_runner.h"

#include <cstring>

#include "base/error.h"
#include "runtime/session/anchor_lookup.h"

namespace poprt::runtime {
namespace {

InputMemoryView views(const std::map<std::string, TensorMemory>& memory) {
  InputMemoryView list;
  for (const auto& [name, m] : memory) list[name] = m.const_view();
  return list;
}

}  // namespace

LightRunner::LightRunner(std::shared_ptr<const Model> model, LightRunnerConfig config)
    : model_(std::move(model)), config_(std::move(config)) {
  reload();
  // From now on any device is used, because a stopped runner does not keep one.
  config_.session.device = nullptr;
  config_.replica_id_to_device.clear();
  model_inputs_ = runner_->execute_inputs();
  outputs_ = runner_->execute_outputs();
  for (size_t i = 0; i < model_inputs_.size(); i++)
    if (!model_inputs_[i].popef_contains_tensor_data) {
      execute_inputs_.push_back(model_inputs_[i]);
      positions_.push_back(i);
    }
}

void LightRunner::reload() {
  if (runner_) return;
  RunnerConfig config;
  config.session = config_.session;
  config.replica_id_to_device = config_.replica_id_to_device;
  auto made = std::make_unique<ModelRunner>(model_, std::move(config));
  made->update_inputs(views(updated_));
  runner_ = std::move(made);
}

void LightRunner::stop() noexcept {
  if (!runner_) return;
  runner_->stop();
  runner_.reset();
}

std::vector<InputBinding> LightRunner::inputs_of_model(std::span<const InputBinding> inputs) const {
  std::vector<InputBinding> list(inputs.begin(), inputs.end());
  for (InputBinding& b : list) {
    if (b.name.data()) continue;
    if (b.index >= positions_.size())
      fail(ErrorCode::not_found, "there is no input {}; the runner has {}",
           static_cast<int64_t>(b.index), positions_.size());
    b.index = positions_[b.index];
  }
  return list;
}

ModelRunner& LightRunner::runner() {
  if (!runner_) fail(ErrorCode::cancelled, "the runner is stopped: call reload()");
  return *runner_;
}

void LightRunner::execute(std::span<const InputBinding> inputs,
                          std::span<const OutputBinding> outputs) {
  runner().execute(inputs_of_model(inputs), outputs);
}

RequestPtr LightRunner::execute_async(std::span<const InputBinding> inputs,
                                      std::span<const OutputBinding> outputs,
                                      RequestCallback callback, const RequestOptions& options) {
  return runner().execute_async(inputs_of_model(inputs), outputs, callback, options);
}

void LightRunner::set_input_anchor(const std::string& name, ConstTensorMemoryView data) {
  const auto& anchors = model_->inputs();
  const size_t i = find_anchor(anchors, name, 0, "input");
  if (!model_inputs_[i].popef_contains_tensor_data)
    fail(ErrorCode::failed_precondition,
         "input '{}' is given by every request: nothing comes with the model to replace", name);
  if (model_->is_seed(i))
    fail(ErrorCode::failed_precondition, "input '{}' is the random seed: every run gets a new one",
         name);
  if (data.bytes != anchors[i].bytes()) fail_wrong_size(anchors[i], data.bytes, "input");
  if (!data.data && data.bytes)
    fail(ErrorCode::invalid_argument, "input '{}': the pointer is null", name);
  TensorMemory memory(data.bytes);
  if (data.bytes) std::memcpy(memory.data(), data.data, data.bytes);
  pending_[name] = std::move(memory);
}

void LightRunner::update_weights() {
  if (runner_) runner_->update_inputs(views(pending_));
  for (auto& [name, memory] : pending_) updated_[name] = std::move(memory);
  pending_.clear();
}

RunnerStatistics LightRunner::statistics() const {
  return runner_ ? runner_->statistics() : RunnerStatistics();
}

RunnerStatistics LightRunner::statistics(size_t replica) const {
  if (!runner_)
    fail(ErrorCode::not_found, "there is no replica {}: the runner is stopped", replica);
  return runner_->statistics(replica);
}

size_t LightRunner::replicas() const { return runner_ ? runner_->replicas() : 0; }

std::vector<Tracepoint> LightRunner::tracepoints() const {
  return runner_ ? runner_->tracepoints() : std::vector<Tracepoint>();
}

}  // namespace poprt::runtime
