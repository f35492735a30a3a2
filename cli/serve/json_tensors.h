// Tensors of the Open Inference Protocol in JSON, and Triton's extension for binary tensors: the
// body is JSON followed by the bytes of tensors, in order.
//
//   {"inputs": [{"name": "image", "shape": [1, 64], "datatype": "FP32", "data": [0, 1, ...]}],
//    "outputs": [{"name": "scores"}]}
//
//   {"inputs": [{..., "parameters": {"binary_data_size": 256}}]}<256 bytes>
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "serve/inference.h"
#include "serve/request_parameters.h"

namespace poprt::serve {

// Parses an object. Throws Error (invalid_argument) if the text is no JSON object, is nested too
// deeply, or has an object with too many fields or with one field twice.
nlohmann::ordered_json parse_object(std::string_view text);

// An infer request. Inputs point into `body`, or into `converted`.
struct JsonRequest {
  std::string body;
  std::vector<std::vector<char>> converted;
  std::vector<InputTensor> inputs;
  std::vector<std::string> wanted;  // names of outputs
  std::vector<bool> wanted_binary;  // by output in `wanted`
  RequestParameters parameters;
  std::string id;
};

// Parses `request.body`. `json_size` is the size of the JSON part, and `specs` are the inputs of
// the model. Throws Error (invalid_argument).
void parse_request(JsonRequest& request, size_t json_size,
                   const std::vector<serving::TensorSpec>& specs);

// Parses the body of a request to the repository, which may be empty, and sets `value` if the body
// has the flag. `flag` is "ready" for an index, "unload_dependents" (a parameter) for unloading, or
// "" if no flag is allowed. Throws Error (invalid_argument).
void parse_repository_request(std::string_view body, const char* flag, bool& value);

// Returns the body of the answer. `json_size` becomes the size of the JSON part if binary tensors
// follow it, and 0 otherwise.
std::string format_response(const Result& result, const JsonRequest& request, size_t& json_size);

// Returns {"error": MESSAGE}.
std::string format_error(std::string_view message);

// Returns the metadata of a model.
std::string format_metadata(const LoadedModel& model);

}  // namespace poprt::serve
