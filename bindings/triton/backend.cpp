// The functions that Triton calls.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "generator_instance.h"
#include "instance_state.h"
#include "model_state.h"
#include "support.h"

namespace poprt::triton {
namespace {

constexpr uint32_t kApiMajor = 1;   // versions of Triton's backend interface
constexpr uint32_t kApiMinor = 10;  // the oldest that is accepted

// Options that the server gives to every backend.
constexpr std::string_view kServerOptions[] = {"auto-complete-config", "backend-directory",
                                               "default-max-batch-size", "min-compute-capability"};

BackendState read_options(TRITONBACKEND_Backend* backend) {
  TRITONSERVER_Message* message = nullptr;
  check(TRITONBACKEND_BackendConfig(backend, &message));
  const char* text = nullptr;
  size_t size = 0;
  check(TRITONSERVER_MessageSerializeToJson(message, &text, &size));
  const nlohmann::json config = nlohmann::json::parse(text, text + size, nullptr, false);
  BackendState state;
  if (config.is_object() && config.contains("cmdline") && config["cmdline"].is_object()) {
    for (const auto& [name, value] : config["cmdline"].items()) {
      const bool known = std::ranges::find(kServerOptions, name) != std::end(kServerOptions);
      if (name == "compile") {
        if (value != "true" && value != "false")
          throw serving::Error(POPRT_INVALID_ARGUMENT,
                               "option compile is " + value.dump() + "; expected true or false");
        state.compile = value == "true";
      } else if (!known) {
        log(TRITONSERVER_LOG_WARN, "option '" + name + "' has no effect; known: compile");
      }
    }
  }
  return state;
}

void initialize(TRITONBACKEND_Backend* backend) {
  uint32_t major = 0, minor = 0;
  check(TRITONBACKEND_ApiVersion(&major, &minor));
  if (major != kApiMajor || minor < kApiMinor)
    throw serving::Error(POPRT_FAILED_PRECONDITION,
                         "the server has backend interface " + std::to_string(major) + "." +
                             std::to_string(minor) + "; expected 1." + std::to_string(kApiMinor) +
                             " or a later 1.x");
  if (poprt_version() / 1000000 != POPRT_VERSION_MAJOR || poprt_version() < POPRT_VERSION)
    throw serving::Error(POPRT_FAILED_PRECONDITION,
                         std::string("the backend needs libpoprt 1.0 or a later 1.x; found ") +
                             poprt_version_string());
  auto state = std::make_unique<BackendState>(read_options(backend));
  check(TRITONBACKEND_BackendSetState(backend, state.get()));
  state.release();
  log(TRITONSERVER_LOG_INFO, std::string("libpoprt ") + poprt_version_string());
}

// Deletes the state of `handle` and sets the state to null, so that it is deleted once. After a
// failed initialisation there is no state, and the function has no effect.
template <class State, class Handle>
void remove_state(Handle* handle, TRITONSERVER_Error* (*read)(Handle*, void**),
                  TRITONSERVER_Error* (*write)(Handle*, void*)) {
  void* state = nullptr;
  check(read(handle, &state));
  if (!state) return;
  delete static_cast<State*>(state);
  check(write(handle, nullptr));
}

}  // namespace
}  // namespace poprt::triton

using namespace poprt::triton;

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  return guard([&] { initialize(backend); });
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  return guard([&] {
    remove_state<BackendState>(backend, TRITONBACKEND_BackendState, TRITONBACKEND_BackendSetState);
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return guard([&] {
    TRITONBACKEND_Backend* backend = nullptr;
    check(TRITONBACKEND_ModelBackend(model, &backend));
    void* options = nullptr;
    check(TRITONBACKEND_BackendState(backend, &options));
    auto state = std::make_unique<ModelState>(
        model, options ? *static_cast<BackendState*>(options) : BackendState());
    check(TRITONBACKEND_ModelSetState(model, state.get()));
    state.release();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return guard([&] {
    remove_state<ModelState>(model, TRITONBACKEND_ModelState, TRITONBACKEND_ModelSetState);
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return guard([&] {
    TRITONBACKEND_Model* model = nullptr;
    check(TRITONBACKEND_ModelInstanceModel(instance, &model));
    void* state = nullptr;
    check(TRITONBACKEND_ModelState(model, &state));
    if (!state)
      throw poprt::serving::Error(POPRT_FAILED_PRECONDITION, "the model is not initialised");
    auto& model_state = *static_cast<ModelState*>(state);
    std::unique_ptr<Instance> created;
    if (model_state.generator().empty())
      created = std::make_unique<InstanceState>(model_state, instance);
    else
      created = std::make_unique<GeneratorInstance>(model_state, instance);
    check(TRITONBACKEND_ModelInstanceSetState(instance, created.get()));
    created.release();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return guard([&] {
    remove_state<Instance>(instance, TRITONBACKEND_ModelInstanceState,
                           TRITONBACKEND_ModelInstanceSetState);
  });
}

// After success, the backend owns the requests. After an error, the server keeps them.
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       uint32_t count) {
  void* state = nullptr;
  return guard([&] {
    check(TRITONBACKEND_ModelInstanceState(instance, &state));
    if (!state)
      throw poprt::serving::Error(POPRT_FAILED_PRECONDITION, "the instance is not initialised");
    static_cast<Instance*>(state)->execute({requests, count});
  });
}

}  // extern "C"
