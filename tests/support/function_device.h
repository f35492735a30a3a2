// A device whose program is a function of the test, and models that consist of anchors only.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "runtime/session/model.h"

namespace poprt::test {

// Called for every run of the main program.
using DeviceFunction = std::function<void(const void* const* inputs, void* const* outputs)>;

class FunctionDevice final : public device::Device {
 public:
  // `failure` is called after each run; null: no run fails.
  explicit FunctionDevice(DeviceFunction function, int64_t id = 0,
                          std::function<std::optional<Error>()> failure = nullptr)
      : Device(id, 21), function_(std::move(function)), failure_(std::move(failure)) {}

  std::unique_ptr<device::Engine> load(const device::Image&, const device::LoadOptions&) override {
    loads++;
    struct Engine final : device::Engine {
      Engine(const DeviceFunction& f, const std::function<std::optional<Error>()>& after)
          : function(f), failure(after) {}
      void run(device::Flow flow, const void* const* in, void* const* out) noexcept override {
        if (flow == device::Flow::main) function(in, out);
      }
      std::optional<Error> take_failure() override { return failure ? failure() : std::nullopt; }
      DeviceFunction function;
      std::function<std::optional<Error>()> failure;
    };
    return std::make_unique<Engine>(function_, failure_);
  }
  std::atomic<int> loads{0};

 private:
  DeviceFunction function_;
  std::function<std::optional<Error>()> failure_;
};

// Opens once, for all threads. wait() returns false after a minute.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

inline std::shared_ptr<runtime::Model> anchors_only(std::vector<program::Anchor> inputs,
                                                    std::vector<program::Anchor> outputs) {
  auto p = std::make_shared<program::Program>();
  p->inputs = std::move(inputs);
  p->outputs = std::move(outputs);
  device::Image image;
  image.program = p;
  return std::make_shared<runtime::Model>(*runtime::make_model("m", std::move(image)));
}

// A model with the f32 input "x" and output "y" of one shape, and the function of a device that
// adds 1 to every element.
inline std::shared_ptr<runtime::Model> add_one_model(Shape shape) {
  return anchors_only({{"x", DType::f32, shape}}, {{"y", DType::f32, shape}});
}
inline DeviceFunction add_one(size_t count) {
  return [count](const void* const* in, void* const* out) {
    for (size_t i = 0; i < count; i++) {
      float v;
      std::memcpy(&v, static_cast<const char*>(in[0]) + i * 4, 4);
      v += 1;
      std::memcpy(static_cast<char*>(out[0]) + i * 4, &v, 4);
    }
  };
}

}  // namespace poprt::test
