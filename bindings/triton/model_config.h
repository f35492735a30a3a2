// The configuration of a Triton model: its completion from the model, its checks, and the
// parameters that the backend reads.
//
// For a digits model that is compiled for 8 images, the completed configuration is
//
//   max_batch_size: 8
//   input [{name: "image", data_type: TYPE_FP32, dims: [1, 8, 8]}]
//   output [{name: "scores", data_type: TYPE_FP32, dims: [10]}]
//   dynamic_batching {}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "serving/served_model.h"

namespace poprt::triton {

// Values of `parameters` in config.pbtxt.
struct Parameters {
  int64_t timeout_ns = 0;             // as in poprt_runner_options; only in asynchronous mode
  int32_t threads = 0;                // compute threads of each instance; 0: the runner's default
  bool synchronous_execution = true;  // whether the instance's thread computes
  std::vector<int64_t> devices;       // of the instances, in the order in which they start
  serving::LoadOptions load;          // the name of the file and options of the compiler
  // The following members are for models whose shapes are compiled on demand.
  int32_t max_shapes = 0;     // how many shapes each instance keeps; 0: 16
  int64_t max_shape_mib = 0;  // max_shape_memory of poprt_runner_options; 0: half of the memory
  // The shapes that are compiled when an instance starts: lines for ServedModel::warm_up_text().
  std::vector<std::string> warm_up;
};

// Reads the parameters. Returns the names of unknown ones in `unknown`. Throws serving::Error
// (invalid_argument) that contains the parameter and the expected values.
Parameters read_parameters(const nlohmann::json& config, std::vector<std::string>& unknown);

// Throws serving::Error (invalid_argument) for max_shapes, max_shape_mib or warm_up if the shapes
// of the model are not compiled on demand.
void check_parameters(const Parameters& parameters, const serving::ServedModel& model);

// Fills input and output if they are absent; max_batch_size if all three are absent and rows of
// requests may share a batch of the one compiled shape; and dynamic_batching if max_batch_size is
// more than 1 and no batching is configured. Returns whether the configuration changed.
bool complete_config(nlohmann::json& config, const serving::ServedModel& model);

// Throws serving::Error (invalid_argument) if the configuration contradicts the model. The message
// contains the expected and the found value.
void check_config(const nlohmann::json& config, const serving::ServedModel& model);

// Fills the input, output and model_transaction_policy of a generator if they are absent. The
// default policy is decoupled responses. Returns whether the configuration changed.
bool complete_generator_config(nlohmann::json& config);
// Throws serving::Error (invalid_argument) if the configuration contradicts a generator, or for a
// parameter other than `threads`.
void check_generator_config(const nlohmann::json& config, const Parameters& parameters);
bool is_decoupled(const nlohmann::json& config);

int64_t max_batch_size(const nlohmann::json& config);

}  // namespace poprt::triton
