// A framework's executor: a session with queues, whose programs run in another thread.
#include "executor.hpp"

#include <chrono>
#include <iostream>
#include <model_runtime/DeviceManager.hpp>
#include <model_runtime/QueueManager.hpp>
#include <model_runtime/Session.hpp>
#include <model_runtime/SessionUtils.hpp>
#include <popef/Model.hpp>
#include <popef/Reader.hpp>
#include <stdexcept>

namespace {

model_runtime::AnchorCallbackPredicate ofMain(const model_runtime::Session* session) {
  return model_runtime::predicate_factory::predProgramFlowMain(
      session->model()->metadata.programFlow());
}

}  // namespace

Executor::Executor(const std::string& path) {
  auto reader = std::make_shared<popef::Reader>();
  reader->parseFile(path);
  model_ = popef::ModelBuilder(reader).createModel();
  model_runtime::DeviceManager manager;
  device_ = manager.getDevice(
      model_, model_runtime::DeviceWaitConfig(model_runtime::DeviceWaitStrategy::WAIT_FOREVER));
  model_runtime::SessionConfig config;
  config.policy = model_runtime::LaunchPolicy::Deferred;
  config.check_package_hash = true;
  session_ = std::make_unique<model_runtime::Session>(model_, config);
  session_->bindToDevice(device_);
  const auto timeout = [this](model_runtime::InputRingBuffer* buffer) {
    if (!buffer->readAvailable()) queues_->flushAll();
  };
  queues_ = session_->createQueueManager(10, timeout, std::chrono::nanoseconds(0),
                                         ofMain(session_.get()), ofMain(session_.get()));
  session_->runLoadPrograms();
  loop_ = std::async(std::launch::async, [this] {
    while (!stop_.load()) session_->runMainPrograms();
  });
}

Executor::~Executor() {
  stop_.store(true);
  queues_->disconnectAll();
  if (loop_.wait_for(std::chrono::seconds(10)) == std::future_status::timeout) session_->stop();
  loop_.get();  // throws what the thread has thrown, which ends this program
}

std::vector<float> Executor::run(const std::vector<float>& input) {
  const auto inputs = session_->getUserInputAnchors(), outputs = session_->getUserOutputAnchors();
  if (inputs.size() != 1 || outputs.size() != 1) throw std::runtime_error("expected one tensor");
  const popef::TensorInfo& info = outputs[0].tensorInfo();
  if (info.dataType() != popef::DataType::F32) throw std::runtime_error("expected floats");
  std::vector<float> output(info.sizeInBytes() / sizeof(float));
  std::promise<void> done;
  model_runtime::OutputQueue& to = queues_->outputQueue(outputs[0].name());
  to.enqueue(output.data(), info.sizeInBytes(), [&done] { done.set_value(); });
  queues_->inputQueue(inputs[0].name()).enqueue(input.data(), input.size() * sizeof(float), [] {});
  done.get_future().wait();
  return output;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<float> y;
  for (int i = 0; i < 20; i++) {  // the destructor races with a run that waits for data
    Executor executor(argv[1]);
    y = executor.run({-3, -2, -1, 0, 1, 2});
  }
  std::cout << "y:";
  for (const float value : y) std::cout << ' ' << value;
  std::cout << '\n';
}
