#include "runtime/session.h"

#include "base/error.h"
#include "device/device_manager.h"

namespace poprt::runtime {

Session::Session(std::shared_ptr<const Model> model, SessionConfig config)
    : model_(std::move(model)), device_(std::move(config.device)) {
  if (!device_) device_ = device::DeviceManager().get_device();
  if (!device_->acquire())
    fail(ErrorCode::failed_precondition, "device {} is in use by another session", device_->id());
  try {
    engine_ = device_->load(model_->image, config.load);
  } catch (Error& e) {
    device_->release();
    e.add_context(fmt::format("executable '{}'", model_->name));
    throw;
  } catch (...) {
    device_->release();
    throw;
  }
}

Session::~Session() {
  engine_.reset();
  device_->release();
}

void Session::run_load_programs() noexcept {
  if (!model_->program().load.empty()) engine_->run(device::Flow::load, nullptr, nullptr);
}

}  // namespace poprt::runtime
