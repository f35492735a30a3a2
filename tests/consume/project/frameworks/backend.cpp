// The back end of a deployment toolkit: a runner of PopRT on raw memory.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <poprt/logging.hpp>
#include <poprt/runtime/device_manager.hpp>
#include <poprt/runtime/model_runner.hpp>
#include <poprt/runtime/runtime_config.hpp>
#include <string>
#include <vector>

namespace {

class Backend {
 public:
  explicit Backend(const std::string& path) {
    poprt::runtime::RuntimeConfig config;
    config.timeoutNS = std::chrono::milliseconds(5);
    config.batchSizeTimeoutNS = std::chrono::milliseconds(1);
    config.dataParallelTimeoutNS = std::chrono::milliseconds(1);
    config.ringBufferSizeMultiplier = 3;
    config.checkPackageHash = false;
    config.validateIOParams = true;
    const std::chrono::nanoseconds timeout = config.timeoutNS;
    poprt::logging::info("a batch waits {} ns", timeout.count());
    runner_ = std::make_unique<poprt::runtime::ModelRunner>(path, config);
    inputs_ = runner_->getExecuteInputs();
    outputs_ = runner_->getExecuteOutputs();
    for (const poprt::runtime::DataDesc& desc : inputs_)
      poprt::logging::err("input {}: {} bytes, rank {:>2}", desc.name, desc.sizeInBytes,
                          desc.shape.size());
  }
  void infer(const std::vector<void*>& from, const std::vector<void*>& to) {
    poprt::runtime::InputMemoryView in;
    poprt::runtime::OutputMemoryView out;
    for (std::size_t i = 0; i < inputs_.size(); i++)
      in.emplace(inputs_[i].name,
                 poprt::runtime::ConstTensorMemoryView(from[i], inputs_[i].sizeInBytes));
    for (std::size_t i = 0; i < outputs_.size(); i++)
      out.emplace(outputs_[i].name,
                  poprt::runtime::TensorMemoryView(to[i], outputs_[i].sizeInBytes));
    runner_->execute(in, out);
  }
  const std::vector<poprt::runtime::OutputDesc>& outputs() const { return outputs_; }

 private:
  std::unique_ptr<poprt::runtime::ModelRunner> runner_;
  std::vector<poprt::runtime::InputDesc> inputs_;
  std::vector<poprt::runtime::OutputDesc> outputs_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<std::string> messages;
  poprt::setLogCallback(
      [&](poprt::LogLevel, const std::string& message) { messages.push_back(message); });
  Backend backend(argv[1]);
  poprt::setLogCallback({});
  if (messages != std::vector<std::string>{"input x: 24 bytes, rank  2"}) {
    for (const std::string& message : messages) std::cerr << message << '\n';
    return 3;
  }
  std::vector<float> x = {-3, -2, -1, 0, 1, 2}, y(6);
  backend.infer({x.data()}, {y.data()});
  std::cout << backend.outputs()[0].name << ":";
  for (const float value : y) std::cout << ' ' << value;
  std::cout << '\n';
}
