// Runners that pack requests, join inputs, or can release their device.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "poprt/runner.hpp"
#include "poprt/runners.h"

namespace model_runtime {

enum class PackAlgorithm : int32_t {
  NextFit = POPRT_PACK_NEXT_FIT,
  FirstFit = POPRT_PACK_FIRST_FIT,
};

// PopRT's fields with its defaults. poprt/runners.h documents them.
struct PackRunnerConfig {
  explicit PackRunnerConfig(int64_t timeout = 0, uint64_t maxValid = 0, std::string dynamic = {},
                            std::string unpackInfo = {})
      : timeoutInMicroSeconds(timeout),
        maxValidNum(maxValid),
        dynamicInputName(std::move(dynamic)),
        unpackInfoInputName(std::move(unpackInfo)) {}

  RunnerType runnerType = RunnerType::PackRunner;
  DeviceWaitConfig deviceWaitConfig{std::chrono::seconds(1), std::chrono::seconds(6)};
  int64_t timeoutInMicroSeconds;  // must be more than 0
  uint64_t maxValidNum;
  std::string dynamicInputName, unpackInfoInputName, maskName;
  std::vector<std::string> dynamicGroup;
  PackAlgorithm algo = PackAlgorithm::NextFit;
  int64_t compileBatchSize = -1;
  bool disableDataAcrossRows = false;
  bool enablePaddingRemove = false;
  uint64_t delimiterNum = 0;
  bool enablePrefetchDatastreams = true;
  RuntimeConfig runner;  // addition: options of the underlying runner

  void enablePaddingRemovePattern(const std::string& mask, const std::vector<std::string>& group) {
    enablePaddingRemove = true;
    maskName = mask;
    dynamicGroup = group;
  }
  void enableSingleRowMode(const std::string& mask, const std::string& unpackInfo = {},
                           uint64_t delimiters = 0) {
    disableDataAcrossRows = true;
    maskName = mask;
    unpackInfoInputName = unpackInfo;
    delimiterNum = delimiters;
  }
};

class PackRunner : public impl::HandleRunner {
 public:
  PackRunner(const std::string& popefPath, const PackRunnerConfig& config)
      : PackRunner(Executable({popefPath}, config.runner.checkPackageHash), config) {}
  PackRunner(const std::shared_ptr<popef::Model>& model, const PackRunnerConfig& config)
      : PackRunner(detail::given(model, "model"), config) {}
  PackRunner(const popef::Model& model, const PackRunnerConfig& config)
      : PackRunner(Executable(model, config.runner.checkPackageHash), config) {}
  PackRunner(const std::shared_ptr<Executable>& executable, const PackRunnerConfig& config)
      : PackRunner(detail::given(executable, "executable"), config) {}
  PackRunner(const Executable& executable, const PackRunnerConfig& config) {
    RuntimeConfig under = config.runner;
    under.deviceWaitConfig = config.deviceWaitConfig;
    const impl::RunnerOptions options(under);
    std::vector<const char*> group;
    for (const std::string& name : config.dynamicGroup)
      group.push_back(detail::text(name, "dynamicGroup"));
    const auto text = [](const std::string& s, const char* name) {
      return s.empty() ? nullptr : detail::text(s, name);
    };
    poprt_pack_runner_options o{};
    o.struct_size = sizeof o;
    o.runner = &options.o;
    o.timeout_microseconds = config.timeoutInMicroSeconds;
    o.max_valid_num = config.maxValidNum;
    o.dynamic_input_name = detail::text(config.dynamicInputName, "dynamicInputName");
    o.unpack_info_input_name = text(config.unpackInfoInputName, "unpackInfoInputName");
    o.mask_name = text(config.maskName, "maskName");
    o.dynamic_group = group.data();
    o.dynamic_group_count = group.size();
    o.algorithm = static_cast<poprt_pack_algorithm>(config.algo);
    o.disable_data_across_rows = config.disableDataAcrossRows;
    o.compile_batch_size = config.compileBatchSize == -1 ? 0 : config.compileBatchSize;
    o.enable_padding_remove = config.enablePaddingRemove;
    o.disable_prefetch_datastreams = !config.enablePrefetchDatastreams;
    o.delimiter_num = config.delimiterNum;
    poprt_runner* made = nullptr;
    check(poprt_pack_runner_create(executable.handle(), &o, &made));
    adopt(made);
  }
};

struct LightRunnerConfig {
  bool checkPackageHash = true;
  ReplicaIdToDevice replicaIdToDevice;
};

// A runner that can release and reacquire its device (poprt_light_runner_create). Not thread-safe.
class LightRunner : public impl::HandleRunner {
 public:
  explicit LightRunner(const std::string& popefPath, const LightRunnerConfig& config = {})
      : LightRunner(Executable({popefPath}, config.checkPackageHash), config) {}
  explicit LightRunner(const std::shared_ptr<popef::Model>& model,
                       const LightRunnerConfig& config = {})
      : LightRunner(detail::given(model, "model"), config) {}
  explicit LightRunner(const popef::Model& model, const LightRunnerConfig& config = {})
      : LightRunner(Executable(model, config.checkPackageHash), config) {}
  explicit LightRunner(const std::shared_ptr<Executable>& executable,
                       const LightRunnerConfig& config = {})
      : LightRunner(detail::given(executable, "executable"), config) {}
  explicit LightRunner(const Executable& executable, const LightRunnerConfig& config = {}) {
    RuntimeConfig runtime;
    runtime.replicaIdToDevice = config.replicaIdToDevice;
    const impl::RunnerOptions options(runtime);
    poprt_runner* made = nullptr;
    check(poprt_light_runner_create(executable.handle(), &options.o, &made));
    adopt(made);
  }
  // Returns all inputs of the model. popefContainsTensorData marks weights.
  std::vector<InputDesc> getModelInputs() const {
    std::vector<InputDesc> list;
    for (size_t i = 0; i < poprt_light_runner_model_input_count(handle()); i++) {
      list.push_back(detail::describe(poprt_light_runner_model_input(handle(), i)));
      list.back().popefContainsTensorData =
          poprt_light_runner_model_input_has_data(handle(), i) != 0;
    }
    return list;
  }
  void setInputAnchor(const std::string& name, const ConstTensorMemoryView& data) {
    check(poprt_light_runner_set_input_anchor(handle(), detail::text(name, "name"), data.data,
                                              data.dataSizeBytes));
  }
  void updateWeights() { check(poprt_light_runner_update_weights(handle())); }
  void reload() { check(poprt_light_runner_reload(handle())); }
  // PopRT's Python spelling.
  std::vector<InputDesc> get_model_inputs() const { return getModelInputs(); }
  void set_input_anchor(const std::string& name, const ConstTensorMemoryView& data) {
    setInputAnchor(name, data);
  }
  void update_weights() { updateWeights(); }
};

struct HostConcatConfig {
  std::string tensorName;
  std::vector<std::string> inputTensorNames;
  std::vector<int64_t> shape;   // empty: not checked
  uint64_t dataSizeBytes = 0;   // 0: not checked
  std::vector<uint64_t> sizes;  // addition: bytes of each input; empty: equal parts
};

struct HostConcatRunnerConfig {
  bool checkPackageHash = true;
  int32_t ringBufferSizeMultiplier = 2;
  Nanoseconds timeoutNS = 5'000'000;
  // If empty, the configuration in the executable is used.
  std::map<std::string, HostConcatConfig> hostConcatConfig;
};

class HostConcatRunner : public impl::HandleRunner {
 public:
  explicit HostConcatRunner(const std::string& popefPath, const HostConcatRunnerConfig& config = {})
      : HostConcatRunner(Executable({popefPath}, config.checkPackageHash), config) {}
  explicit HostConcatRunner(const std::shared_ptr<popef::Model>& model,
                            const HostConcatRunnerConfig& config = {})
      : HostConcatRunner(detail::given(model, "model"), config) {}
  explicit HostConcatRunner(const popef::Model& model, const HostConcatRunnerConfig& config = {})
      : HostConcatRunner(Executable(model, config.checkPackageHash), config) {}
  explicit HostConcatRunner(const std::shared_ptr<Executable>& executable,
                            const HostConcatRunnerConfig& config = {})
      : HostConcatRunner(detail::given(executable, "executable"), config) {}
  explicit HostConcatRunner(const Executable& executable,
                            const HostConcatRunnerConfig& config = {}) {
    RuntimeConfig runtime;
    runtime.ringBufferSizeMultiplier = config.ringBufferSizeMultiplier;
    runtime.timeoutNS = config.timeoutNS;
    const impl::RunnerOptions options(runtime);
    std::vector<poprt_host_concat> list;
    std::vector<std::vector<const char*>> names;
    for (const auto& [name, c] : config.hostConcatConfig) {
      names.emplace_back();
      for (const std::string& n : c.inputTensorNames)
        names.back().push_back(detail::text(n, "inputTensorNames"));
      list.push_back({c.tensorName.empty() ? detail::text(name, "name")
                                           : detail::text(c.tensorName, "tensorName"),
                      names.back().data(), names.back().size(),
                      c.shape.empty() ? nullptr : c.shape.data(), c.shape.size(), c.dataSizeBytes,
                      c.sizes.empty() ? nullptr : c.sizes.data()});
      if (!c.sizes.empty() && c.sizes.size() != c.inputTensorNames.size())
        throw Error(ErrorCode::invalid_argument,
                    "'" + name + "' has another number of sizes than of inputs");
    }
    poprt_host_concat_runner_options o{};
    o.struct_size = sizeof o;
    o.runner = &options.o;
    o.host_concat = list.data();
    o.host_concat_count = list.size();
    poprt_runner* made = nullptr;
    check(poprt_host_concat_runner_create(executable.handle(), &o, &made));
    adopt(made);
  }
};

}  // namespace model_runtime
