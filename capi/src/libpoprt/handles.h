// The types of the opaque handles.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "device/device_manager.h"
#include "poprt/poprt.h"
#include "runtime/runner/light_runner.h"
#include "runtime/runner/model_runner.h"
#include "runtime/session/model.h"

struct poprt_error {
  poprt::ErrorCode code;
  std::string message;
  poprt_popef_error_class popef_class = POPRT_POPEF_NO_CLASS;
};

struct poprt_string {
  std::string text;
};

namespace poprt::capi {
class ShapeCompiler;
}

struct poprt_executable {
  std::shared_ptr<const poprt::runtime::Model> model;
  // Compiles further shapes for runners, or null. If no shape was compiled ahead, `model` only
  // describes the inputs and outputs.
  std::shared_ptr<poprt::capi::ShapeCompiler> shapes = nullptr;

  // The model with a program. Throws failed_precondition if no shape was compiled ahead.
  const std::shared_ptr<const poprt::runtime::Model>& compiled() const {
    if (shapes && model->image.program->main.empty())
      poprt::fail(poprt::ErrorCode::failed_precondition,
                  "the shapes of model '{}' are compiled when a runner gets requests: give "
                  "`input_shape` or `batch_size` to compile one ahead",
                  model->name);
    return model;
  }
};

struct poprt_device_manager {
  poprt::device::DeviceManager manager;
};

struct poprt_device {
  std::shared_ptr<poprt::device::Device> device;
};

struct poprt_runner {
  std::unique_ptr<poprt::runtime::BaseRunner> runner;
  // The same runner if it has this type; for a ShapeRunner, the runner of the shape that was
  // compiled ahead.
  poprt::runtime::ModelRunner* model = nullptr;
  poprt::runtime::LightRunner* light = nullptr;
};

namespace poprt::capi {

// A request handle owns a reference to a request.
inline poprt_request* to_handle(runtime::RequestPtr request) {
  return reinterpret_cast<poprt_request*>(request.detach());
}
inline runtime::Request* from_handle(poprt_request* request) {
  return reinterpret_cast<runtime::Request*>(request);
}

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
