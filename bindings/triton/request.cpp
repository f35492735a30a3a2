#include "request.h"

#include <algorithm>
#include <cstring>

#include "support.h"

namespace poprt::triton {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw serving::Error(POPRT_INVALID_ARGUMENT, message);
}

bool suits(const std::vector<int64_t>& shape, const serving::TensorSpec& spec, bool batch) {
  if (shape.size() != spec.shape.size()) return false;
  for (size_t d = 0; d < shape.size(); d++)
    if (batch && d == 0 ? shape[d] < 1
                        : (spec.shape[d] < 0 ? shape[d] < 0 : shape[d] != spec.shape[d]))
      return false;
  return true;
}

}  // namespace

Request::Request(TRITONBACKEND_Request* request) : request_(request) {
  check(TRITONBACKEND_ResponseNew(&response_, request));
}

void Request::read(const Specs& inputs, const Specs& outputs, size_t required, bool batch) {
  check_not_cancelled();
  read_deadline();
  inputs_.assign(inputs.size(), std::nullopt);
  uint32_t count = 0;
  check(TRITONBACKEND_RequestInputCount(request_, &count));
  rows_ = batch ? 0 : 1;
  for (uint32_t i = 0; i < count; i++) {
    TRITONBACKEND_Input* input = nullptr;
    check(TRITONBACKEND_RequestInputByIndex(request_, i, &input));
    read_input(input, inputs, batch);
  }
  for (size_t i = 0; i < required; i++)
    if (!inputs_[i]) refuse("input '" + inputs[i].name + "' is missing");
  read_outputs(outputs);
}

void Request::check_not_cancelled() const {
  bool cancelled = false;
  if (TRITONBACKEND_RequestIsCancelled)
    check(TRITONBACKEND_RequestIsCancelled(request_, &cancelled));
  if (cancelled) throw serving::Error(POPRT_CANCELLED, "the client cancelled the request");
}

void Request::check_wanted() const {
  check_not_cancelled();
  if (is_late()) throw too_late("its computation");
}

void Request::read_deadline() {
  constexpr uint64_t kMost = 315'360'000'000'000;  // ten years
  uint64_t limit = 0;
  if (TRITONBACKEND_InferenceRequestTimeoutMicroseconds)
    check(TRITONBACKEND_InferenceRequestTimeoutMicroseconds(request_, &limit));
  if (limit > 0)
    deadline_ = serving::Timer::Clock::now() +
                std::chrono::microseconds(static_cast<int64_t>(std::min(limit, kMost)));
}

std::vector<Request::Parameter> Request::parameters() const {
  std::vector<Parameter> given;
  if (!TRITONBACKEND_RequestParameterCount || !TRITONBACKEND_RequestParameter) return given;
  uint32_t count = 0;
  check(TRITONBACKEND_RequestParameterCount(request_, &count));
  for (uint32_t i = 0; i < count; i++) {
    const char* name = nullptr;
    TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_STRING;
    const void* value = nullptr;
    check(TRITONBACKEND_RequestParameter(request_, i, &name, &type, &value));
    Parameter& parameter = given.emplace_back();
    parameter.name = name;
    if (type == TRITONSERVER_PARAMETER_INT)
      parameter.number = static_cast<double>(*static_cast<const int64_t*>(value));
    else if (type == TRITONSERVER_PARAMETER_BOOL)
      parameter.number = *static_cast<const bool*>(value) ? 1 : 0;
    else if (type == TRITONSERVER_PARAMETER_DOUBLE)
      parameter.number = *static_cast<const double*>(value);
  }
  return given;
}

void Request::read_input(TRITONBACKEND_Input* input, const Specs& specs, bool batch) {
  const char* name = nullptr;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint32_t rank = 0, buffers = 0;
  uint64_t bytes = 0;
  check(TRITONBACKEND_InputProperties(input, &name, &type, &shape, &rank, &bytes, &buffers));
  const auto spec =
      std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.name == name; });
  if (spec == specs.end()) refuse("the model has no input '" + std::string(name) + "'");
  if (dtype_of(type) != spec->dtype) {
    const char* given = serving::datatype_name(dtype_of(type));
    refuse("input '" + spec->name + "' has type " + (given ? given : "BYTES") + "; expected " +
           serving::datatype_name(spec->dtype));
  }
  Input read;
  read.shape.assign(shape, shape + rank);
  if (spec->shape.empty() && read.shape == shape_for_triton({})) read.shape.clear();
  if (!suits(read.shape, *spec, batch))
    refuse("input '" + spec->name + "' has shape " + serving::shape_text(read.shape) +
           "; expected " + serving::shape_text(shape_for_triton(spec->shape)) +
           (batch ? " with any number of rows" : ""));
  if (batch) {
    if (rows_ != 0 && rows_ != read.shape[0])
      refuse("input '" + spec->name + "' has " + std::to_string(read.shape[0]) +
             " rows; other inputs have " + std::to_string(rows_));
    rows_ = read.shape[0];
  }
  read.bytes = serving::tensor_bytes(spec->dtype, read.shape);
  size_t sum = 0;
  for (uint32_t i = 0; i < buffers; i++) {
    Buffer buffer;
    uint64_t size = 0;
    TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
    int64_t id = 0;
    check(TRITONBACKEND_InputBuffer(input, i, &buffer.data, &size, &memory, &id));
    if (memory == TRITONSERVER_MEMORY_GPU)
      refuse("input '" + spec->name + "' is in the memory of a GPU");
    buffer.bytes = size;
    sum += size;
    if (size > 0) read.buffers.push_back(buffer);
  }
  if (sum != read.bytes || bytes != sum)
    refuse("input '" + spec->name + "' has " + std::to_string(sum) + " bytes; expected " +
           std::to_string(read.bytes));
  inputs_[static_cast<size_t>(spec - specs.begin())] = std::move(read);
}

void Request::read_outputs(const Specs& specs) {
  wanted_.assign(specs.size(), false);
  uint32_t count = 0;
  check(TRITONBACKEND_RequestOutputCount(request_, &count));
  for (uint32_t i = 0; i < count; i++) {
    const char* name = nullptr;
    check(TRITONBACKEND_RequestOutputName(request_, i, &name));
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.name == name; });
    if (spec == specs.end()) refuse("the model has no output '" + std::string(name) + "'");
    wanted_[static_cast<size_t>(spec - specs.begin())] = true;
  }
}

bool Request::joins(const Request& other) const {
  for (size_t i = 0; i < inputs_.size(); i++) {
    if (!inputs_[i] || !other.inputs_[i]) return false;
    const auto &mine = inputs_[i]->shape, &theirs = other.inputs_[i]->shape;
    if (!std::equal(mine.begin() + 1, mine.end(), theirs.begin() + 1, theirs.end())) return false;
  }
  return true;
}

const void* Request::whole(size_t index) const {
  return inputs_[index]->buffers.size() == 1 ? inputs_[index]->buffers[0].data : nullptr;
}

void Request::copy_input(size_t index, char* to) const {
  for (const Buffer& buffer : inputs_[index]->buffers) {
    std::memcpy(to, buffer.data, buffer.bytes);
    to += buffer.bytes;
  }
}

char* Request::add_output(const serving::TensorSpec& spec, const std::vector<int64_t>& shape,
                          size_t bytes) {
  const std::vector<int64_t> sent = shape_for_triton(shape);
  if (!response_) check(TRITONBACKEND_ResponseNew(&response_, request_));
  TRITONBACKEND_Output* output = nullptr;
  check(TRITONBACKEND_ResponseOutput(response_, &output, spec.name.c_str(), triton_type(spec.dtype),
                                     sent.data(), static_cast<uint32_t>(sent.size())));
  void* memory = nullptr;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  check(TRITONBACKEND_OutputBuffer(output, &memory, bytes, &type, &id));
  if (type == TRITONSERVER_MEMORY_GPU)
    throw serving::Error(POPRT_UNIMPLEMENTED,
                         "output '" + spec.name + "' is in the memory of a GPU");
  return static_cast<char*>(memory);
}

void Request::send_part() {
  if (!response_) check(TRITONBACKEND_ResponseNew(&response_, request_));
  check(TRITONBACKEND_ResponseSend(std::exchange(response_, nullptr), 0, nullptr));
}

// Tells the server that the last response was sent.
bool Request::send_end() noexcept {
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  TRITONSERVER_Error* unsent = TRITONBACKEND_ResponseFactoryNew(&factory, request_);
  if (!unsent) {
    unsent = TRITONBACKEND_ResponseFactorySendFlags(factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
    log_error(TRITONBACKEND_ResponseFactoryDelete(factory));
  }
  const bool sent = !unsent;
  log_error(unsent);
  return sent;
}

bool Request::send(const serving::Error* error) noexcept {
  if (!response_ && !error) return send_end();
  if (!response_) log_error(TRITONBACKEND_ResponseNew(&response_, request_));
  if (!response_) {
    send_end();
    return false;
  }
  TRITONSERVER_Error* failure = error ? new_error(error->code(), error->what()) : nullptr;
  TRITONBACKEND_Response* response = std::exchange(response_, nullptr);
  TRITONSERVER_Error* unsent =
      TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, failure);
  if (failure) TRITONSERVER_ErrorDelete(failure);
  const bool sent = !unsent;
  log_error(unsent);
  return sent && !error;
}

void Request::release() noexcept {
  log_error(TRITONBACKEND_RequestRelease(request_, TRITONSERVER_REQUEST_RELEASE_ALL));
}

}  // namespace poprt::triton
