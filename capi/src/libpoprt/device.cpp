#include "poprt/device.h"

#include "guard.h"
#include "struct_size.h"
#include "wait.h"

using namespace poprt;

poprt_error* poprt_device_manager_create(const poprt_device_manager_options* options,
                                         poprt_device_manager** out_manager) {
  return capi::guard([&] {
    const auto o = capi::read_options(options, "poprt_device_manager_options");
    capi::check_reserved(o.reserved, "poprt_device_manager_options");
    auto& out = capi::required(out_manager, "out_manager");
    out = new poprt_device_manager{device::DeviceManager(device::ManagerConfig{
        o.device_count, o.shared ? o.shared : "", o.visible ? o.visible : ""})};
  });
}

size_t poprt_device_manager_device_count(const poprt_device_manager* manager) {
  return manager ? static_cast<size_t>(manager->manager.device_count()) : 0;
}

int64_t poprt_device_manager_device_id(const poprt_device_manager* manager, size_t index) {
  if (!manager) return -1;
  const auto& ids = manager->manager.device_ids();
  return index < ids.size() ? ids[index] : -1;
}

poprt_error* poprt_device_manager_acquire(const poprt_device_manager* manager,
                                          const poprt_device_request* request,
                                          const poprt_executable* executable, int64_t id,
                                          poprt_device** out_device) {
  return capi::guard([&] {
    const auto& m = capi::required(manager, "manager").manager;
    auto& out = capi::required(out_device, "out_device");
    const auto r = capi::read_options(request, "poprt_device_request");
    capi::check_reserved(r.reserved, "poprt_device_request");
    device::Constraints c;
    if (executable) c = runtime::constraints_of(*executable->model);
    if (r.num_ipus != 0) c.num_ipus = r.num_ipus;
    if (r.ipu_version != 0) c.ipu_version = r.ipu_version;
    c.min_tiles = r.min_tiles;
    c.remote_buffers = r.remote_buffers != 0;
    const auto wait = capi::read_wait(r.wait_strategy, r.wait_timeout_ns, r.wait_sleep_ns);
    out = new poprt_device{id == -1 ? m.get_device(c, wait) : m.get_specific_device(id, wait, c)};
  });
}

poprt_error* poprt_device_manager_create_ipu_model_device(const poprt_device_manager* manager,
                                                          int64_t num_ipus, int32_t ipu_version,
                                                          int64_t tiles_per_ipu,
                                                          poprt_device** out_device) {
  return capi::guard([&] {
    const auto& m = capi::required(manager, "manager").manager;
    auto& out = capi::required(out_device, "out_device");
    if (ipu_version == 0) ipu_version = device::DeviceManager::kModelIpuVersion;
    out = new poprt_device{m.create_ipu_model_device(num_ipus, ipu_version, tiles_per_ipu)};
  });
}

poprt_error* poprt_device_manager_create_small_ipu_model_device(const poprt_device_manager* manager,
                                                                int64_t num_ipus,
                                                                int32_t ipu_version,
                                                                poprt_device** out_device) {
  return poprt_device_manager_create_ipu_model_device(
      manager, num_ipus, ipu_version, device::DeviceManager::kSmallModelTiles, out_device);
}

int64_t poprt_device_num_ipus(const poprt_device* device) {
  return device ? device->device->num_ipus() : 0;
}

int64_t poprt_device_tiles_per_ipu(const poprt_device* device) {
  return device ? device->device->properties().tiles_per_ipu : 0;
}

int32_t poprt_device_is_ipu_model(const poprt_device* device) {
  return device && device->device->properties().ipu_model;
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
