// A model on a device.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "runtime/model.h"

namespace poprt::runtime {

struct SessionConfig {
  std::shared_ptr<device::Device> device;  // null: any free one
  device::LoadOptions load;
};

// Holds its device until it is destroyed. One thread at a time.
class Session {
 public:
  // Acquires the device and prepares the program. Throws unavailable (no free device),
  // failed_precondition (another session has the device, or a kernel is missing), and what
  // device::Device::load throws.
  explicit Session(std::shared_ptr<const Model> model, SessionConfig config = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Model& model() const { return *model_; }
  const std::shared_ptr<device::Device>& device() const { return device_; }

  // Once, before the first main program.
  void run_load_programs() noexcept;
  // One pointer per anchor, in the program's order, to memory of the anchor's size.
  void run_main_programs(const void* const* inputs, void* const* outputs) noexcept {
    engine_->run(device::Flow::main, inputs, outputs);
  }
  void run_save_programs(const void* const* inputs, void* const* outputs) noexcept {
    engine_->run(device::Flow::save, inputs, outputs);
  }

  std::vector<device::InstructionProfile> profile() const { return engine_->profile(); }
  int threads() const noexcept { return engine_->threads(); }

 private:
  std::shared_ptr<const Model> model_;
  std::shared_ptr<device::Device> device_;
  std::unique_ptr<device::Engine> engine_;
};

}  // namespace poprt::runtime
