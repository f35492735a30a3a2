// The state of one model of the server: the executable, the configuration and the devices that its
// instances use.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model_config.h"
#include "triton_api.h"

namespace poprt::triton {

// Options of the command line: --backend-config=poprt,NAME=VALUE. `compile` also allows new shapes
// of PopEF files that contain their source.
struct BackendState {
  bool compile = false;  // whether ONNX files are compiled when they are loaded
};

class ModelState {
 public:
  // Opens the files of the model's version, completes the configuration if the server requests it,
  // and checks it. Throws serving::Error.
  ModelState(TRITONBACKEND_Model* model, const BackendState& backend);

  // The PopEF file, if the model is a generator; else "".
  const std::string& generator() const { return generator_; }
  bool decoupled() const { return decoupled_; }
  // Only if the model is not a generator.
  const serving::ServedModel& model() const { return *model_; }
  const Parameters& parameters() const { return parameters_; }
  int64_t max_batch() const { return max_batch_; }
  // Logs that a parameter of a request has no effect, once for each of the first 32 names.
  void warn_of_parameter(const std::string& name) const;

  // Returns a device for a new instance, which no other instance of the model uses, and its number
  // in `id`. Without parameter `devices`, returns null, and `id` is -1. Throws serving::Error
  // (resource_exhausted, unavailable, not_found).
  serving::Device take_device(int64_t& id);
  // Makes the device available to other instances; -1 has no effect.
  void return_device(int64_t id);

 private:
  ModelState(TRITONBACKEND_Model* model, nlohmann::json config, const BackendState& backend);

  const std::string folder_;  // of the version
  Parameters parameters_;
  const std::string generator_;
  std::optional<serving::ServedModel> model_;
  bool decoupled_ = false;
  int64_t max_batch_ = 0;
  mutable std::mutex mutex_;
  mutable std::set<std::string> warned_;  // guarded by mutex_
  std::vector<int64_t> free_devices_;     // guarded by mutex_
};

}  // namespace poprt::triton
