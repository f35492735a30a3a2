#include "poprt/device.h"

#include "guard.h"

using namespace poprt;

poprt_error* poprt_device_manager_create(const poprt_device_manager_options* options,
                                         poprt_device_manager** out_manager) {
  return capi::guard([&] {
    const auto o = capi::read_options(options, "poprt_device_manager_options");
    auto& out = capi::required(out_manager, "out_manager");
    out = new poprt_device_manager{device::DeviceManager(o.device_count)};
  });
}

size_t poprt_device_manager_device_count(const poprt_device_manager* manager) {
  return manager ? static_cast<size_t>(manager->manager.device_count()) : 0;
}

poprt_error* poprt_device_manager_get_device(const poprt_device_manager* manager, int64_t num_ipus,
                                             poprt_device** out_device) {
  return capi::guard([&] {
    const auto& m = capi::required(manager, "manager").manager;
    auto& out = capi::required(out_device, "out_device");
    out = new poprt_device{m.get_device(num_ipus)};
  });
}

poprt_error* poprt_device_manager_get_specific_device(const poprt_device_manager* manager,
                                                      int64_t id, poprt_device** out_device) {
  return capi::guard([&] {
    const auto& m = capi::required(manager, "manager").manager;
    auto& out = capi::required(out_device, "out_device");
    out = new poprt_device{m.get_specific_device(id)};
  });
}

const char* poprt_device_manager_ipu_hardware_version(const poprt_device_manager*) {
  return device::DeviceManager::ipu_hardware_version();
}

void poprt_device_manager_free(poprt_device_manager* manager) { delete manager; }

int64_t poprt_device_id(const poprt_device* device) { return device ? device->device->id() : -1; }

int32_t poprt_device_ipu_version(const poprt_device* device) {
  return device ? device->device->ipu_version() : 0;
}

void poprt_device_free(poprt_device* device) { delete device; }
