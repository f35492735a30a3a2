// The executor of a framework: its header only declares the classes of Model Runtime.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace model_runtime {
class Device;
class QueueManager;
class Session;
}  // namespace model_runtime

namespace popef {
class Model;
}

class Executor {
 public:
  explicit Executor(const std::string& path);
  ~Executor();
  std::vector<float> run(const std::vector<float>& input);

 private:
  std::shared_ptr<popef::Model> model_;
  std::shared_ptr<model_runtime::Device> device_;
  std::unique_ptr<model_runtime::Session> session_;
  model_runtime::QueueManager* queues_ = nullptr;  // owned by the session
  std::atomic<bool> stop_{false};
  std::future<void> loop_;
};
