#include "host.h"

#include <dlfcn.h>

#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace host {
namespace {

std::atomic<int> objects{0};
std::mutex log_mutex;
std::string log_lines;

template <class Function>
void find(void* library, const char* name, Function& out) {
  void* const symbol = dlsym(library, name);
  if (!symbol) throw std::runtime_error(std::string("no symbol ") + name);
  out = reinterpret_cast<Function>(symbol);
}

TRITONSERVER_Error* refuse(TRITONSERVER_Error_Code code, const char* message) {
  return TRITONSERVER_ErrorNew(code, message);
}

// Triton's checks of the dimensions in a configuration.
TRITONSERVER_Error* check_dims(const nlohmann::json& config) {
  for (const char* kind : {"input", "output"})
    for (const auto& tensor : config.value(kind, nlohmann::json::array())) {
      if (tensor.value("dims", nlohmann::json::array()).empty())
        return refuse(TRITONSERVER_ERROR_INVALID_ARG, "a tensor must specify 'dims'");
      if (config.value("max_batch_size", 0) == 0 && tensor.contains("reshape") &&
          tensor["reshape"].value("shape", nlohmann::json::array()).empty())
        return refuse(TRITONSERVER_ERROR_INVALID_ARG,
                      "a tensor cannot have empty reshape for non-batching model as scalar tensors "
                      "are not supported");
    }
  return nullptr;
}

}  // namespace

int live_objects() { return objects.load(); }

std::string take_log() {
  const std::lock_guard lock(log_mutex);
  return std::exchange(log_lines, {});
}

Library::Library(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  find(library, "TRITONBACKEND_Initialize", initialize);
  find(library, "TRITONBACKEND_Finalize", finalize);
  find(library, "TRITONBACKEND_ModelInitialize", model_initialize);
  find(library, "TRITONBACKEND_ModelFinalize", model_finalize);
  find(library, "TRITONBACKEND_ModelInstanceInitialize", instance_initialize);
  find(library, "TRITONBACKEND_ModelInstanceFinalize", instance_finalize);
  find(library, "TRITONBACKEND_ModelInstanceExecute", execute);
}

std::string text_of(TRITONSERVER_Error* error) {
  if (!error) return {};
  std::string text = error->message;
  TRITONSERVER_ErrorDelete(error);
  return text;
}

}  // namespace host

void TRITONBACKEND_Request::wait_released() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return released > 0; });
}

extern "C" {

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* message) {
  host::objects++;
  return new TRITONSERVER_Error{code, message};
}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) {
  host::objects--;
  delete error;
}
TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) { return error->code; }
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) { return error->message.c_str(); }
TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel, const char*, int,
                                            const char* message) {
  const std::lock_guard lock(host::log_mutex);
  host::log_lines += std::string(message) + "\n";
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* base, size_t size) {
  host::objects++;
  *message = new TRITONSERVER_Message{std::string(base, size)};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                        const char** base, size_t* size) {
  *base = message->text.data();
  *size = message->text.size();
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  host::objects--;
  delete message;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) {
  *major = 1;
  *minor = 19;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend,
                                                TRITONSERVER_Message** config) {
  *config = &backend->config;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendState(TRITONBACKEND_Backend* backend, void** state) {
  *state = backend->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend* backend, void* state) {
  backend->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model* model, const char** name) {
  *name = model->name.c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model*, uint64_t* version) {
  *version = 1;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model,
                                                  TRITONBACKEND_ArtifactType* type,
                                                  const char** location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->location.c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, uint32_t,
                                              TRITONSERVER_Message** config) {
  return TRITONSERVER_MessageNewFromSerializedJson(config, model->config.data(),
                                                   model->config.size());
}
TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model* model,
                                                          bool* complete) {
  *complete = model->complete;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model, uint32_t,
                                                 TRITONSERVER_Message* config) {
  if (TRITONSERVER_Error* error = host::check_dims(nlohmann::json::parse(config->text)))
    return error;
  model->config = config->text;
  model->times_set++;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelBackend(TRITONBACKEND_Model* model,
                                               TRITONBACKEND_Backend** backend) {
  *backend = model->backend;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state) {
  *state = model->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state) {
  model->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceName(TRITONBACKEND_ModelInstance*,
                                                    const char** name) {
  *name = "instance";
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance* instance,
                                                    TRITONSERVER_InstanceGroupKind* kind) {
  *kind = instance->kind;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance,
                                                     TRITONBACKEND_Model** model) {
  *model = instance->model;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance,
                                                     void** state) {
  *state = instance->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance,
                                                        void* state) {
  instance->state = state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, bool success,
    uint64_t exec_start, uint64_t compute_start, uint64_t compute_end, uint64_t exec_end) {
  const std::lock_guard lock(instance->mutex);
  if (request->released || exec_start > compute_start || compute_start > compute_end ||
      compute_end > exec_end)
    return host::refuse(TRITONSERVER_ERROR_INTERNAL, "statistics of a released request");
  (success ? instance->succeeded : instance->failed)++;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, uint64_t batch_size, uint64_t, uint64_t, uint64_t,
    uint64_t) {
  const std::lock_guard lock(instance->mutex);
  instance->batches.push_back(batch_size);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request* request,
                                                    uint32_t* count) {
  *count = static_cast<uint32_t>(request->inputs.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request* request,
                                                      uint32_t index, TRITONBACKEND_Input** input) {
  *input = &request->inputs.at(index);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                     uint32_t* count) {
  *count = static_cast<uint32_t>(request->wanted.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request, uint32_t index,
                                                    const char** name) {
  *name = request->wanted.at(index).c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request,
                                                     bool* cancelled) {
  *cancelled = request->cancelled;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request* request,
                                                        uint32_t* count) {
  *count = static_cast<uint32_t>(request->parameters.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestParameter(TRITONBACKEND_Request* request, uint32_t index,
                                                   const char** key,
                                                   TRITONSERVER_ParameterType* type,
                                                   const void** value) {
  const auto& [name, held] = *std::next(request->parameters.begin(), index);
  *key = name.c_str();
  *type = static_cast<TRITONSERVER_ParameterType>(held.index());
  *value = std::visit([](const auto& v) -> const void* { return &v; }, held);
  if (const auto* text = std::get_if<std::string>(&held)) *value = text->c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InferenceRequestTimeoutMicroseconds(
    TRITONBACKEND_Request* request, uint64_t* timeout) {
  *timeout = request->timeout_us;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, uint32_t) {
  const std::lock_guard lock(request->mutex);
  request->released++;
  request->changed.notify_all();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  TRITONSERVER_DataType* type,
                                                  const int64_t** shape, uint32_t* rank,
                                                  uint64_t* bytes, uint32_t* buffer_count) {
  *name = input->name.c_str();
  *type = input->type;
  *shape = input->shape.data();
  *rank = static_cast<uint32_t>(input->shape.size());
  *bytes = 0;
  for (const auto& buffer : input->buffers) *bytes += buffer.size();
  *buffer_count = static_cast<uint32_t>(input->buffers.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, uint32_t index,
                                              const void** buffer, uint64_t* bytes,
                                              TRITONSERVER_MemoryType* memory_type,
                                              int64_t* memory_type_id) {
  *buffer = input->buffers.at(index).data();
  *bytes = input->buffers[index].size();
  *memory_type = input->memory;
  *memory_type_id = 0;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request) {
  if (request->refuse_response)
    return host::refuse(TRITONSERVER_ERROR_UNAVAILABLE, "no response now");
  host::objects++;
  *response = new TRITONBACKEND_Response{request, {}};
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 TRITONSERVER_DataType type, const int64_t* shape,
                                                 uint32_t rank) {
  if (response->outputs.contains(name))
    return host::refuse(TRITONSERVER_ERROR_ALREADY_EXISTS, "the output exists");
  *output = &response->outputs[name];
  (*output)->type = type;
  (*output)->shape.assign(shape, shape + rank);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer,
                                               uint64_t bytes, TRITONSERVER_MemoryType*, int64_t*) {
  output->bytes.resize(bytes);
  *buffer = output->bytes.data();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, uint32_t flags,
                                               TRITONSERVER_Error* error) {
  TRITONBACKEND_Request& request = *response->request;
  {
    const std::lock_guard lock(request.mutex);
    request.sent++;
    if (request.cancel_when_sent) request.cancelled = true;
    if (request.cancels) request.cancels->cancelled = true;
    if (flags == TRITONSERVER_RESPONSE_COMPLETE_FINAL) request.ends++;
    if (!error) request.responses.push_back(response->outputs);
    request.changed.notify_all();
    if (error)
      request.error = error->message, request.code = error->code;
    else
      request.outputs = std::move(response->outputs);
  }
  host::objects--;
  delete response;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryNew(TRITONBACKEND_ResponseFactory** factory,
                                                     TRITONBACKEND_Request* request) {
  host::objects++;
  *factory = new TRITONBACKEND_ResponseFactory{request};
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryDelete(TRITONBACKEND_ResponseFactory* factory) {
  host::objects--;
  delete factory;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseFactorySendFlags(TRITONBACKEND_ResponseFactory* factory,
                                                           uint32_t flags) {
  const std::lock_guard lock(factory->request->mutex);
  if (flags == TRITONSERVER_RESPONSE_COMPLETE_FINAL) factory->request->ends++;
  return nullptr;
}

}  // extern "C"
