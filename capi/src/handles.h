// What the opaque handles are.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "device/device_manager.h"
#include "poprt/poprt.h"
#include "runtime/model.h"
#include "runtime/model_runner.h"

struct poprt_error {
  poprt::ErrorCode code;
  std::string message;
};

struct poprt_string {
  std::string text;
};

struct poprt_executable {
  std::shared_ptr<const poprt::runtime::Model> model;
};

struct poprt_device_manager {
  poprt::device::DeviceManager manager;
};

struct poprt_device {
  std::shared_ptr<poprt::device::Device> device;
};

struct poprt_runner {
  poprt::runtime::ModelRunner runner;
};

struct poprt_request {
  std::shared_ptr<poprt::runtime::Request> request;
};

namespace poprt::capi {

// An anchor handle is a program's anchor.
inline const poprt_anchor* to_handle(const program::Anchor* anchor) {
  return reinterpret_cast<const poprt_anchor*>(anchor);
}
inline const program::Anchor* from_handle(const poprt_anchor* anchor) {
  return reinterpret_cast<const program::Anchor*>(anchor);
}

inline const poprt_anchor* anchor_at(const std::vector<program::Anchor>& anchors, size_t index) {
  return index < anchors.size() ? to_handle(&anchors[index]) : nullptr;
}

}  // namespace poprt::capi
