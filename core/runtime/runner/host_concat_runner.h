// A runner for models whose inputs were joined into fewer ones, so that one copy to the device is
// sufficient.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runner/model_runner.h"

namespace poprt::runtime {

// The input `tensor_name` of the model consists of the bytes of the inputs `input_tensor_names`, in
// sequence.
struct HostConcatConfig {
  std::string tensor_name;
  std::vector<std::string> input_tensor_names;
  Shape shape;                   // of the joined tensor; empty: not checked
  uint64_t data_size_bytes = 0;  // of the joined tensor; 0: the size in the model
  std::vector<uint64_t> sizes;   // an extension of PopRT: bytes of each input; empty: equal parts
};

struct HostConcatRunnerConfig {
  RunnerConfig runner;  // batching_dim must be off
  // The keys are labels only. If empty, the model's opaque blob "HostConcatRunnerConfig" is used,
  // which is JSON of the form {"NAME": {"tensor_name", "input_tensor_names", "shape",
  // "data_size_bytes", "sizes"}}; only "input_tensor_names" is required, and "tensor_name" is NAME
  // by default.
  std::map<std::string, HostConcatConfig> host_concat_config;
};

// Throws data_loss with the invalid part in the message.
std::map<std::string, HostConcatConfig> parse_host_concat_config(std::string_view json);

// The thread that submits joins the inputs, in memory that is reused. Joined inputs must be valid
// only until the call returns, other inputs until the request is done. Thread-safe.
class HostConcatRunner final : public BaseRunner {
 public:
  // Throws not_found (the model has no such input, or there is no configuration), invalid_argument
  // (batching_dim is on, sizes or a shape do not fit, or an input is joined twice), data_loss (the
  // blob of the model is invalid), and the errors of ModelRunner.
  explicit HostConcatRunner(std::shared_ptr<const Model> model, HostConcatRunnerConfig config = {});
  ~HostConcatRunner() override;

  // The original inputs, followed by the inputs of the model that are not joined.
  const std::vector<DataDesc>& execute_inputs() const override { return inputs_; }
  const std::vector<DataDesc>& execute_outputs() const override {
    return runner_.execute_outputs();
  }

  using BaseRunner::execute;
  using BaseRunner::execute_async;
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
  struct Part {  // if joined: a part of targets_[target], else all of the model's input `target`
    size_t target;
    uint64_t offset;
    bool joined;
  };
  struct Buffers;
  struct Shared;
  // Copies the joined inputs to the memory of `buffers`, and sets its bindings to the inputs of the
  // model.
  void join(std::span<const InputBinding> inputs, Buffers& buffers) const;

  std::vector<DataDesc> inputs_;
  std::vector<Part> parts_;
  // The joined inputs of the model, and their sizes in bytes.
  std::vector<std::pair<size_t, uint64_t>> targets_;
  std::shared_ptr<Shared> shared_;  // buffers that are currently unused
  ModelRunner runner_;
};

}  // namespace poprt::runtime
