// A runner for models whose many inputs were joined into few, so that one copy serves them all.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/runner/model_runner.h"

namespace poprt::runtime {

// One input of the model, `tensor_name`, is these inputs' bytes one after the other.
struct HostConcatConfig {
  std::string tensor_name;
  std::vector<std::string> input_tensor_names;
  Shape shape;                   // of the joined tensor; empty: not checked
  uint64_t data_size_bytes = 0;  // of the joined tensor; 0: as the model says
  std::vector<uint64_t> sizes;   // ours: bytes of each input; empty: equal parts
};

struct HostConcatRunnerConfig {
  RunnerConfig runner;  // batching_dim must be off
  // By tensor name. Empty: the model's opaque blob "HostConcatRunnerConfig", JSON of the same form:
  // {"NAME": {"tensor_name", "input_tensor_names", "shape", "data_size_bytes", "sizes"}}.
  std::map<std::string, HostConcatConfig> host_concat_config;
};

// Throws data_loss naming what is wrong.
std::map<std::string, HostConcatConfig> parse_host_concat_config(std::string_view json);

// Joins are made by the thread that submits, into memory that is used again; inputs need to be
// valid only until the call returns. Thread-safe.
class HostConcatRunner final : public BaseRunner {
 public:
  // Throws not_found (no such input of the model, or no configuration), invalid_argument (sizes),
  // and what ModelRunner throws.
  explicit HostConcatRunner(std::shared_ptr<const Model> model, HostConcatRunnerConfig config = {});
  ~HostConcatRunner() override;

  // The original names. The model's own inputs that are not joined come last.
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
  RunnerStatistics statistics() const override { return runner_.statistics(); }
  RunnerStatistics statistics(size_t replica) const override { return runner_.statistics(replica); }
  size_t replicas() const override { return runner_.replicas(); }
  std::vector<Tracepoint> tracepoints() const override { return runner_.tracepoints(); }

 private:
  struct Part {  // of the model's input `target` (index), or all of it when not joined
    size_t target;
    uint64_t offset;
    bool joined;
  };
  struct Buffers;
  struct Shared;
  // Fills `buffers` and the model's bindings.
  void join(std::span<const InputBinding> inputs, Buffers& buffers) const;

  std::vector<DataDesc> inputs_;
  std::vector<Part> parts_;
  std::vector<std::pair<size_t, uint64_t>> targets_;  // model inputs to join, and their bytes
  std::shared_ptr<Shared> shared_;                    // buffers that are free
  ModelRunner runner_;
};

}  // namespace poprt::runtime
