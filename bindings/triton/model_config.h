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
  int64_t timeout_ns = 0;             // how long an incomplete batch waits, see runner options
  int32_t threads = 0;                // compute threads of each instance
  bool synchronous_execution = true;  // whether the instance's thread computes
  std::vector<int64_t> devices;       // of the instances, in the order in which they start
  serving::LoadOptions load;          // the name of the file and options of the compiler
  // For models whose shapes are compiled on demand: how many shapes each instance keeps (0: 16),
  // and the shapes that are compiled when an instance starts, as lines for
  // ServedModel::warm_up_text().
  int32_t max_shapes = 0;
  int64_t max_shape_mib = 0;  // max_shape_memory of poprt_runner_options; 0: half of the memory
  std::vector<std::string> warm_up;
};

// Reads the parameters. Returns the names of unknown ones in `unknown`. Throws serving::Error
// (invalid_argument) that contains the parameter and the expected values.
Parameters read_parameters(const nlohmann::json& config, std::vector<std::string>& unknown);

// Throws serving::Error (invalid_argument) for a parameter that has no effect on the model.
void check_parameters(const Parameters& parameters, const serving::ServedModel& model);

// Fills max_batch_size, input, output and dynamic_batching if they are absent. Returns whether the
// configuration changed.
bool complete_config(nlohmann::json& config, const serving::ServedModel& model);

// Throws serving::Error (invalid_argument) if the configuration contradicts the model. The message
// contains the expected and the found value.
void check_config(const nlohmann::json& config, const serving::ServedModel& model);

// The same for a generator, whose responses are decoupled unless the configuration has a
// model_transaction_policy.
bool complete_generator_config(nlohmann::json& config);
void check_generator_config(const nlohmann::json& config, const Parameters& parameters);
bool is_decoupled(const nlohmann::json& config);

int64_t max_batch_size(const nlohmann::json& config);

}  // namespace poprt::triton
