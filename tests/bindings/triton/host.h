// A small server that implements the functions of Triton that the backend uses, and counts what the
// backend does with its objects.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#pragma GCC visibility push(default)
#include "triton/triton_api.h"
#pragma GCC visibility pop

struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  std::string message;
};
struct TRITONSERVER_Message {
  std::string text;
};
struct TRITONBACKEND_Backend {
  TRITONSERVER_Message config;
  void* state = nullptr;
};
struct TRITONBACKEND_Model {
  TRITONBACKEND_Backend* backend = nullptr;
  std::string name = "model", location, config;
  bool complete = true;
  int times_set = 0;
  void* state = nullptr;
};
struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_Model* model = nullptr;
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  void* state = nullptr;
  std::mutex mutex;
  std::vector<uint64_t> batches;  // sizes that the backend reported
  int succeeded = 0, failed = 0;
};
struct TRITONBACKEND_Input {
  std::string name;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_FP32;
  std::vector<int64_t> shape;
  std::vector<std::vector<char>> buffers;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
};
struct TRITONBACKEND_Output {
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  std::vector<int64_t> shape;
  std::vector<char> bytes;
};
struct TRITONBACKEND_Response {
  TRITONBACKEND_Request* request = nullptr;
  std::map<std::string, TRITONBACKEND_Output> outputs;
};
struct TRITONBACKEND_ResponseFactory {
  TRITONBACKEND_Request* request = nullptr;
};
struct TRITONBACKEND_Request {
  std::vector<TRITONBACKEND_Input> inputs;
  std::vector<std::string> wanted;
  std::atomic<bool> cancelled{false};
  bool refuse_response = false;
  uint64_t timeout_us = 0;  // 0: none
  // In the order of TRITONSERVER_ParameterType.
  std::map<std::string, std::variant<std::string, int64_t, bool, double, std::vector<char>>>
      parameters;
  bool cancel_when_sent = false;             // the client cancels when it has a response
  TRITONBACKEND_Request* cancels = nullptr;  // its client cancels this one when it has a response
  // Results that the backend set.
  std::map<std::string, TRITONBACKEND_Output> outputs;
  TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_UNKNOWN;
  std::string error;
  int sent = 0, released = 0;
  int ends = 0;  // last responses
  // The outputs of all responses, in order.
  std::vector<std::map<std::string, TRITONBACKEND_Output>> responses;
  std::mutex mutex;
  std::condition_variable changed;
  void wait_released();
};

namespace host {

// The number of living objects of the server: errors, messages that the backend made, and
// responses.
int live_objects();
// Returns and removes the lines that the backend logged.
std::string take_log();

// The library of the backend, loaded as in the server.
struct Library {
  explicit Library(const char* path);
  TRITONSERVER_Error* (*initialize)(TRITONBACKEND_Backend*);
  TRITONSERVER_Error* (*finalize)(TRITONBACKEND_Backend*);
  TRITONSERVER_Error* (*model_initialize)(TRITONBACKEND_Model*);
  TRITONSERVER_Error* (*model_finalize)(TRITONBACKEND_Model*);
  TRITONSERVER_Error* (*instance_initialize)(TRITONBACKEND_ModelInstance*);
  TRITONSERVER_Error* (*instance_finalize)(TRITONBACKEND_ModelInstance*);
  TRITONSERVER_Error* (*execute)(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request**, uint32_t);
};

// Returns the message of an error, which it frees; "" for success.
std::string text_of(TRITONSERVER_Error* error);

}  // namespace host
